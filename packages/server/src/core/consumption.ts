/**
 * The use of an approval: consumed once within its validity, with at most one reported outcome.
 * Pure.
 *
 * @see docs/reference/extensions.md
 */

import type { OutcomeStatus } from "@countersign/protocol";
import type { JsonText, StoredRequest } from "./request.ts";

/** Times are epoch milliseconds. */
export interface StoredConsumption {
  /** Hash of its idempotency key. */
  readonly keyHash: string;
  readonly consumedAt: number;
  /** The outcome that the agent reported. */
  readonly outcome: StoredOutcome | null;
}

export interface StoredOutcome {
  readonly status: OutcomeStatus;
  readonly note: JsonText | null;
  readonly reportedAt: number;
}

export type Consuming =
  /** Record it. */
  | { readonly kind: "consumed"; readonly consumption: StoredConsumption }
  /** Same key: the agent may not have received the first answer. */
  | { readonly kind: "replayed"; readonly consumption: StoredConsumption }
  | {
      readonly kind: "refused";
      readonly code: "not_approved" | "already_consumed" | "approval_expired";
    };

/**
 * Consumes an approval, or returns the reason for a rejection. At or after `expires_at`, nothing is
 * consumed. Then a replay is rejected too, because its call has not started and must not start.
 *
 * @param existing the earlier consumption, if any
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
  // If the clock was set back, the use must not precede the approval.
  const consumedAt = Math.max(now, decision.decidedAt);
  return { kind: "consumed", consumption: { keyHash, consumedAt, outcome: null } };
}

export type OutcomeReport =
  | { readonly kind: "reported"; readonly outcome: StoredOutcome }
  /** The same outcome as reported before. */
  | { readonly kind: "replayed" }
  | { readonly kind: "refused"; readonly code: "not_consumed" | "outcome_conflict" };

/**
 * Records the outcome of a call, or returns the reason for a rejection. An agent can report once,
 * without a time limit, because a call may run for any time.
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
