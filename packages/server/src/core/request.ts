/**
 * The states of an approval request as pure functions: opened once, resolved once, then unchanged.
 *
 * Guarantees promises I1 (terminal decisions never change) and I6 (approved only before
 * `deadline_at`).
 *
 * @see contract: States and transitions, Approval request
 */

import type { RequestStatus, TerminalStatus } from "@countersign/protocol";
import type { Actor } from "./actor.ts";

/** The source text of a JSON value from a client, kept verbatim. */
export type JsonText = string;

/** A request as it is stored. Times are epoch milliseconds. */
export interface StoredRequest {
  readonly id: string;
  readonly instanceId: string;
  readonly projectId: string;
  /** Hash of the Idempotency-Key with its scope; undefined until it is stored. */
  readonly keyHash?: string;
  readonly tool: JsonText;
  /** The MCP server that the agent named. Unverified. */
  readonly server: JsonText | null;
  readonly arguments: JsonText;
  readonly timeout: string;
  readonly agentReasoning: JsonText | null;
  readonly context: JsonText | null;
  /** The judgement of the policy, in the format of policy/judgement.ts. */
  readonly policy: JsonText | null;
  /**
   * Trace context of its creation. Written with a new request; a stored request has none, so no
   * answer contains it.
   */
  readonly traceparent?: string | undefined;
  readonly status: RequestStatus;
  readonly createdAt: number;
  readonly deadlineAt: number;
  readonly decision: StoredDecision | null;
}

/** A request that a transaction has locked, with its instance, in order to resolve it. */
export interface ResolvableRequest extends StoredRequest {
  readonly isInstanceDeleted: boolean;
}

export interface StoredDecision {
  readonly status: TerminalStatus;
  readonly note: JsonText | null;
  readonly decidedAt: number;
  /** Set for approvals only, and later than `decidedAt`. */
  readonly expiresAt: number | null;
  readonly decidedBy: Actor;
}

/** The decision that a caller intends for a pending request. */
export type IntendedDecision =
  | {
      readonly status: "approved";
      readonly by: Actor;
      readonly note: JsonText | null;
      readonly validityMs: number;
    }
  | { readonly status: "denied"; readonly by: Actor; readonly note: JsonText | null }
  | { readonly status: "cancelled"; readonly by: Actor }
  | { readonly status: "expired" };

export type Resolution =
  /** The decision to record. Its status is `expired` if the deadline has passed. */
  | { readonly kind: "resolved"; readonly decision: StoredDecision }
  | { readonly kind: "already_terminal"; readonly decision: StoredDecision }
  /** An expiry before the deadline. */
  | { readonly kind: "not_due" };

/**
 * The deadline: the requested window, shortened to the operator's maximum.
 *
 * @param timeoutMs positive, may be Infinity
 */
export function deadline(createdAt: number, timeoutMs: number, windowMsMax: number): number {
  return createdAt + Math.min(timeoutMs, windowMsMax);
}

/** Id of the reviewer who decided; undefined unless a reviewer decided. */
export function deciderId({ decision }: Pick<StoredRequest, "decision">): string | undefined {
  return reviewerIdOf(decision?.decidedBy);
}

/** Id of the freeze that denied the request; undefined unless a freeze did. */
export function freezeId({ decision }: Pick<StoredRequest, "decision">): string | undefined {
  return /^freeze:(.+)$/.exec(decision?.decidedBy ?? "")?.[1];
}

/** Id of the reviewer that this actor is; undefined for other actors. */
export function reviewerIdOf(actor: string | undefined): string | undefined {
  return /^reviewer:(.+)$/.exec(actor ?? "")?.[1];
}

/** True at or after the deadline of a pending request. */
export function isOverdue(request: StoredRequest, now: number): boolean {
  return request.decision === null && now >= request.deadlineAt;
}

/**
 * True when no verdict can decide the request: its deadline passed, or its instance was deleted.
 */
export function isClosed(request: ResolvableRequest, now: number): boolean {
  return request.isInstanceDeleted || isOverdue(request, now);
}

/**
 * Resolves a request, or returns the reason for a rejection. At or after the deadline, every
 * decision becomes `expired`, so a late approval is never recorded. With a deleted instance, every
 * decision becomes `cancelled`, also after the deadline: the contract's row for the deletion has
 * the condition "any".
 *
 * @param now epoch ms, read after the row was locked
 */
export function resolve(
  request: ResolvableRequest,
  ending: IntendedDecision,
  now: number,
): Resolution {
  if (request.decision !== null) {
    return { kind: "already_terminal", decision: request.decision };
  }
  if (request.isInstanceDeleted) {
    const decidedAt = Math.max(now, request.createdAt);
    return {
      kind: "resolved",
      decision: decide("cancelled", "system:instance-deletion", decidedAt),
    };
  }
  if (isOverdue(request, now)) {
    return { kind: "resolved", decision: decide("expired", "system:deadline", now) };
  }
  // If the clock was set back, the decision must not precede the request.
  const decidedAt = Math.max(now, request.createdAt);
  switch (ending.status) {
    case "expired":
      return { kind: "not_due" };
    case "cancelled":
      return { kind: "resolved", decision: decide("cancelled", ending.by, decidedAt) };
    case "denied":
      return {
        kind: "resolved",
        decision: decide("denied", ending.by, decidedAt, { note: ending.note }),
      };
    case "approved": {
      const expiresAt = decidedAt + ending.validityMs;
      const decision = decide("approved", ending.by, decidedAt, { note: ending.note, expiresAt });
      return { kind: "resolved", decision };
    }
  }
}

function decide(
  status: TerminalStatus,
  decidedBy: Actor,
  decidedAt: number,
  { note = null, expiresAt = null }: { note?: JsonText | null; expiresAt?: number | null } = {},
): StoredDecision {
  return { status, note, decidedAt, expiresAt, decidedBy };
}
