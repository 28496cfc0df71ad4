/**
 * How much a decision weighs, by what policy asks for it; nothing is guessed from the call. Pure.
 *
 * - **High**: the rule requires more than a click: a passkey, typed characters, or
 *   several people.
 * - **Raised**: named people, a note, not by the owner; a changed definition of the tool; or policy
 *   met an error or a number that it cannot hold exactly, and so could not judge.
 * - **Usual**: any reviewer, one click.
 */

import type { ReviewedRequest } from "@countersign/review-api";
import { TOOL_CHANGE, toolChangeOf } from "@countersign/review-api/tool-change";
import { t } from "../../language/t.ts";
import { collectsVotes } from "../../requests/words.ts";

type Judged = Pick<ReviewedRequest, "requirement" | "policy" | "context">;

export type Risk = "high" | "raised" | "usual";

export const RISK_WORDS: Readonly<Record<Risk, string>> = {
  high: t`Strict`,
  raised: t`Extra`,
  usual: t`Usual`,
};

export function riskOf({ requirement, policy, context }: Judged): Risk {
  const { confirm, note, from, exclude } = requirement;
  if (confirm.kind !== "click" || collectsVotes(requirement)) return "high";
  const isUnjudged = policy.because === "error" || policy.because === "inexact";
  const isNarrow = from.length > 0 || exclude.length > 0 || note === "required";
  if (toolChangeOf({ context }) !== undefined) return "raised";
  return isUnjudged || policy.errors.length > 0 || isNarrow ? "raised" : "usual";
}

const REASONS: Readonly<Record<string, string>> = {
  "no-match": t`no matching rule`,
  error: t`rule error`,
  inexact: t`number too precise to evaluate`,
  "no-policy": t`no policy yet`,
  [TOOL_CHANGE]: t`tool definition changed`,
};

/** Why people are asked: the rule, or why none decided. */
export function reasonOf({ policy }: Pick<ReviewedRequest, "policy">): string {
  return REASONS[policy.because] ?? policy.because;
}
