/**
 * The life of an approval request as pure functions: opened once, ended once, never changed
 * after that.
 *
 * Promises I1 (terminal decisions never change) and I6 (approved only before `deadline_at`) are
 * decided here.
 *
 * @see contract: States and transitions, Approval request
 */

import type { RequestStatus, TerminalStatus } from "@countersign/protocol";
import type { Actor } from "./actor.ts";

/** A JSON value as its source text: what strangers wrote, kept letter for letter. */
export type JsonText = string;

/** A request as it is stored. Times are epoch milliseconds. */
export interface StoredRequest {
  readonly id: string;
  readonly instanceId: string;
  readonly projectId: string;
  /** Of the Idempotency-Key with its scope; undefined until it is stored. */
  readonly keyHash?: string;
  readonly tool: JsonText;
  /** The MCP server that the agent names; a name, which proves nothing. */
  readonly server: JsonText | null;
  readonly arguments: JsonText;
  readonly timeout: string;
  readonly agentReasoning: JsonText | null;
  readonly context: JsonText | null;
  /** How policy judged it, as policy/judgement.ts wrote it. */
  readonly policy: JsonText | null;
  readonly status: RequestStatus;
  readonly createdAt: number;
  readonly deadlineAt: number;
  readonly decision: StoredDecision | null;
}

/** A request that a transaction has locked together with its instance, to resolve it. */
export interface ResolvableRequest extends StoredRequest {
  readonly isInstanceDeleted: boolean;
}

export interface StoredDecision {
  readonly status: TerminalStatus;
  readonly note: JsonText | null;
  readonly decidedAt: number;
  /** Set exactly when approved, and later than `decidedAt`. */
  readonly expiresAt: number | null;
  readonly decidedBy: Actor;
}

/** What a caller wants a pending request to become. */
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
  /** The decision to record; its status is `expired` whenever the deadline has been reached. */
  | { readonly kind: "resolved"; readonly decision: StoredDecision }
  | { readonly kind: "already_terminal"; readonly decision: StoredDecision }
  /** Expiry was asked for before the deadline. */
  | { readonly kind: "not_due" };

/**
 * When the window closes: the window asked for, shortened to the operator's maximum, never
 * lengthened.
 *
 * @param timeoutMs positive, may be Infinity
 */
export function deadline(createdAt: number, timeoutMs: number, windowMsMax: number): number {
  return createdAt + Math.min(timeoutMs, windowMsMax);
}

/** Whether the window has closed; at the deadline itself it has. */
export function isOverdue(request: StoredRequest, now: number): boolean {
  return request.decision === null && now >= request.deadlineAt;
}

/**
 * Whether no verdict can decide the request: its window has closed, or its instance was deleted.
 */
export function isClosed(request: ResolvableRequest, now: number): boolean {
  return request.isInstanceDeleted || isOverdue(request, now);
}

/**
 * Ends a request, or says why not. At or after the deadline every wish becomes `expired`, so a
 * late approval can never be recorded. Under a deleted instance every wish becomes `cancelled`,
 * also after the deadline: the contract's row for the deletion has the condition "any".
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
  // A clock that stepped back must not date a decision before its request.
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
