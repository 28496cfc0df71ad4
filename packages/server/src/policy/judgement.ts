/**
 * The stored judgement of a call: the active versions, the rules that fired with reasons, and the
 * requirement of a decision. Publishing another policy does not change it. Only the escalation of
 * the request adds to it.
 */

import { scheduleOf, widenRequirement } from "./escalation.ts";
import { acceptsBotApprovals } from "./requirement.ts";
import {
  type Escalation,
  NO_REQUIREMENT,
  type Requirement,
  type RuleError,
  type Verb,
} from "./rule.ts";

/** A published version, with the digest of its source. */
export interface VersionRef {
  readonly number: number;
  readonly sha256: string;
}

export interface Judgement {
  readonly verb: Verb;
  /** As in an Evaluation. */
  readonly because: string;
  readonly fired: readonly string[];
  readonly errors: readonly RuleError[];
  /** Null when no version was published. */
  readonly project: VersionRef | null;
  readonly floor: VersionRef | null;
  /** The rule's explanation for reviewers. */
  readonly note?: string;
  /** Maximum validity of an approval by reviewers. */
  readonly validityMs?: number;
  /** The requirement of a decision by reviewers. */
  readonly requirement?: Requirement;
  /** Times of the applied steps of `requirement.escalate`, in its order, epoch ms; absent: none. */
  readonly escalatedAt?: readonly number[];
  /**
   * The reviewers who were on call at each applied step, as "reviewer:x"; null for steps to groups.
   * Absent: no step to a schedule was applied.
   */
  readonly onCall?: readonly (readonly string[] | null)[];
}

/** The judgement of a request from before policies existed. */
export const UNJUDGED: Judgement = {
  verb: "ask",
  because: "no-policy",
  fired: [],
  errors: [],
  project: null,
  floor: null,
};

/** @returns JSON text; null for the default, which needs no column value */
export function writeJudgement(judgement: Judgement): string | null {
  return judgement.because === UNJUDGED.because ? null : JSON.stringify(judgement);
}

/** @param text from `writeJudgement` */
export function readJudgement(text: string | null): Judgement {
  return text === null ? UNJUDGED : (JSON.parse(text) as Judgement);
}

/** False after a policy error or an inexact number: then only people may approve. */
export function isCertain({ errors, because }: Pick<Judgement, "errors" | "because">): boolean {
  return errors.length === 0 && because !== "inexact";
}

/** The current requirement of a request's decision. */
export function requirementOf(judgement: Judgement): Requirement {
  const requirement = initialRequirementOf(judgement);
  const steps = requirement.escalate?.slice(0, judgement.escalatedAt?.length ?? 0) ?? [];
  return widenRequirement(
    requirement,
    steps.map(({ to }, index) => judgement.onCall?.[index] ?? (scheduleOf({ to }) ? [] : [to])),
  );
}

/** The requirement at the creation of a request, before any escalation. */
export function initialRequirementOf(judgement: Judgement): Requirement {
  const requirement = judgement.requirement ?? NO_REQUIREMENT;
  return { ...requirement, bots: acceptsBotApprovals({ ...judgement, requirement }) };
}

/** A step of the escalation of one request. */
export interface ScheduledEscalation extends Escalation {
  /** Epoch ms. */
  readonly dueAt: number;
  /** Undefined: not yet. */
  readonly doneAt: number | undefined;
  /** The reviewers who were on call, of an applied step to a schedule. Empty: no known one was. */
  readonly onCall: readonly string[] | undefined;
}

/** The steps of a request by time, without those at or after its deadline: they do nothing. */
export function scheduleEscalations(
  { requirement, escalatedAt = [], onCall = [] }: Judgement,
  { createdAt, deadlineAt }: { readonly createdAt: number; readonly deadlineAt: number },
): readonly ScheduledEscalation[] {
  const steps = (requirement?.escalate ?? []).map((step, index) => {
    const dueAt = createdAt + step.afterMs;
    return { ...step, dueAt, doneAt: escalatedAt[index], onCall: onCall[index] ?? undefined };
  });
  return steps.filter(({ dueAt }) => dueAt < deadlineAt);
}

/** Pause before another attempt to find the reviewers who are on call. */
const ON_CALL_RETRY_MS = 60_000;

/**
 * When the next step is due, epoch ms; null: never. A step to a schedule without a known reviewer
 * is due again after a minute.
 *
 * @param now of applied steps
 */
export function nextEscalationAt(
  judgement: Judgement,
  window: { readonly createdAt: number; readonly deadlineAt: number },
  now = window.createdAt,
): number | null {
  const steps = scheduleEscalations(judgement, window);
  const next = steps.find(({ doneAt }) => doneAt === undefined)?.dueAt ?? null;
  if (!steps.some(isUnreached)) return next;
  return Math.min(next ?? Number.POSITIVE_INFINITY, now + ON_CALL_RETRY_MS);
}

/** True for an applied step to a schedule without a known reviewer. */
export function isUnreached({ doneAt, onCall }: ScheduledEscalation): boolean {
  return doneAt !== undefined && onCall?.length === 0;
}
