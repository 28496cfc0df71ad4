/**
 * The use of an approval, where the operator permits agents to report it: consumed once, within its
 * validity, and perhaps reported on, once. Pure.
 *
 * @see docs/reference/extensions.md
 */

import type { OutcomeStatus } from "@countersign/protocol";
import type { JsonText, StoredRequest } from "./request.ts";

/** Times are epoch milliseconds. */
export interface StoredConsumption {
  /** Of the key it was consumed with. */
  readonly keyHash: string;
  readonly consumedAt: number;
  /** What the agent says became of the call. */
  readonly outcome: StoredOutcome | null;
}

export interface StoredOutcome {
  readonly status: OutcomeStatus;
  readonly note: JsonText | null;
  readonly reportedAt: number;
}

export type Consuming =
  /** To record. */
  | { readonly kind: "consumed"; readonly consumption: StoredConsumption }
  /** With the same key: the answer to it may have been lost. */
  | { readonly kind: "replayed"; readonly consumption: StoredConsumption }
  | {
      readonly kind: "refused";
      readonly code: "not_approved" | "already_consumed" | "approval_expired";
    };

/**
 * Consumes an approval, or says why not. At `expires_at` and after it nothing is consumed; a replay
 * of an earlier consumption is refused then, too, because its call has not started and must not
 * start any more.
 *
 * @param existing how it was consumed before
 * @param now epoch ms, read after the request was locked
 */
export function consume(
  { decision }: StoredRequest,
  existing: StoredConsumption | undefined,
  keyHash: string,
  now: number,
): Consuming {
  if (decision === null || decision.expiresAt === null) {
    return { kind: "refused", code: "not_approved" };
  }
  if (existing !== undefined && existing.keyHash !== keyHash) {
    return { kind: "refused", code: "already_consumed" };
  }
  if (now >= decision.expiresAt) return { kind: "refused", code: "approval_expired" };
  if (existing !== undefined) return { kind: "replayed", consumption: existing };
  // A clock that stepped back must not date a use before its approval.
  const consumedAt = Math.max(now, decision.decidedAt);
  return { kind: "consumed", consumption: { keyHash, consumedAt, outcome: null } };
}

export type OutcomeReport =
  | { readonly kind: "reported"; readonly outcome: StoredOutcome }
  /** The same again. */
  | { readonly kind: "replayed" }
  | { readonly kind: "refused"; readonly code: "not_consumed" | "outcome_conflict" };

/**
 * Records what an agent says of its call, or says why not. It is said once; no time ends it, since
 * a call may run for as long as it likes.
 *
 * @param now epoch ms, read after the request was locked
 */
export function report(
  existing: StoredConsumption | undefined,
  { status, note }: Pick<StoredOutcome, "status" | "note">,
  now: number,
): OutcomeReport {
  if (existing === undefined) return { kind: "refused", code: "not_consumed" };
  const { outcome, consumedAt } = existing;
  if (outcome === null) {
    return { kind: "reported", outcome: { status, note, reportedAt: Math.max(now, consumedAt) } };
  }
  const isSame = outcome.status === status && outcome.note === note;
  return isSame ? { kind: "replayed" } : { kind: "refused", code: "outcome_conflict" };
}
