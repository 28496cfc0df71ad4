/** The grant for the rest of a response: later calls of the same instance, session and turn. */

import type { ReviewedRequest } from "@countersign/review-api";
import { sessionIn, turnIn } from "@countersign/review-api/calls";
import type { Input, Routes } from "@countersign/review-api/client";
import { collectsVotes } from "../../requests/words.ts";
import type { Shown } from "./use-request.ts";

export const REST_CALLS = 100;

const REST_LASTS = "1h";

/** As in the reviewer API: the note of a grant is shorter than that of a verdict. */
export const REST_NOTE_CHARS_MAX = 2_000;

/** The tool of the request, or all tools that the policy allows grants for. */
export type RestTools = "same" | "any";

/** True when a grant for the turn of this request can approve later calls like it. */
export function offersRest({ request, contextText }: Pick<Shown, "request" | "contextText">) {
  const { requirement, policy } = request;
  if (!requirement.grants || requirement.confirm.kind !== "click") return false;
  if (collectsVotes(requirement)) return false;
  if (policy.errors.length > 0 || policy.because === "inexact") return false;
  return sessionIn(contextText) !== undefined && turnIn(contextText) !== undefined;
}

type GrantBody = NonNullable<Input<Routes["POST /grants"]>["body"]>;

export function restGrant({ id }: ReviewedRequest, tools: RestTools, note: string): GrantBody {
  return {
    from_request: id,
    same_turn: true,
    ...(tools === "any" && { tool: "*", any_server: true }),
    ...(note !== "" && { note }),
    calls: REST_CALLS,
    lasts: REST_LASTS,
  };
}
