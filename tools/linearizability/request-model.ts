/**
 * One approval request as those see it who ask about it: the sequential object that its history is
 * held against.
 *
 * @see contract: States and transitions, Approval request
 */

import type { ApprovalRequest, TerminalStatus } from "@countersign/protocol";
import type { Model } from "./check.ts";

export type RequestCall =
  | { readonly kind: "create" | "read" | "cancel" }
  | { readonly kind: "verdict"; readonly verdict: "approve" | "deny" }
  /** Its instance is deleted: it is cancelled first, and a long poll may still return that. */
  | { readonly kind: "delete-starts" | "delete" };

export interface Answered {
  readonly status: number;
  /** Where the answer is a request. */
  readonly request?: ApprovalRequest | undefined;
}

/** The text of the decision is the whole of it: none of it may ever change. */
export type RequestState =
  | { readonly phase: "absent" }
  | { readonly phase: "pending" }
  | Decided
  /** With the decision from before, which a repeated verdict may still return. */
  | { readonly phase: "deleted"; readonly before: Decided | undefined };

interface Decided {
  readonly phase: "decided";
  readonly status: TerminalStatus;
  readonly decision: string | undefined;
}

type Step = readonly RequestState[];

const NEVER: Step = [];
const PENDING: RequestState = { phase: "pending" };
const TERMINAL = ["approved", "denied", "expired", "cancelled"] as const;

export const REQUEST_MODEL: Model<RequestState, RequestCall, Answered> = {
  initial: { phase: "absent" },
  keyOf: (state) => JSON.stringify(state),
  step(state, requestCall, answered) {
    // The deadline may pass at any moment before; only its expiry is not an operation.
    const befores = state.phase === "pending" ? [state, decidedAs("expired", undefined)] : [state];
    return befores.flatMap((before) => stepFrom(before, requestCall, answered));
  },
};

function stepFrom(
  state: RequestState,
  requestCall: RequestCall,
  answered: Answered | undefined,
): Step {
  switch (requestCall.kind) {
    case "create":
      return create(state, answered);
    case "read":
      return read(state, answered);
    case "cancel":
      return cancel(state, answered);
    case "verdict":
      return verdict(state, requestCall.verdict, answered);
    case "delete-starts":
      return state.phase === "pending" ? [decidedAs("cancelled", undefined), state] : [state];
    case "delete":
      return remove(state, answered);
  }
}

function create(state: RequestState, answered: Answered | undefined): Step {
  if (state.phase === "deleted") return refusedAs(state, answered, 401);
  if (state.phase !== "absent") {
    return answered === undefined
      ? [state]
      : answered.status === 200
        ? holds(state, answered)
        : NEVER;
  }
  if (answered === undefined) return [state, PENDING];
  return answered.status === 201 && answered.request?.status === "pending" ? [PENDING] : NEVER;
}

function read(state: RequestState, answered: Answered | undefined): Step {
  if (answered === undefined) return [state];
  if (state.phase === "deleted") return refusedAs(state, answered, 401);
  if (state.phase === "absent") return refusedAs(state, answered, 404);
  return answered.status === 200 ? holds(state, answered) : NEVER;
}

function cancel(state: RequestState, answered: Answered | undefined): Step {
  if (state.phase === "deleted") return refusedAs(state, answered, 401);
  if (state.phase === "absent") return refusedAs(state, answered, 404);
  const isCancelled = state.phase === "pending" || state.status === "cancelled";
  if (!isCancelled) return refusedAs(state, answered, 409);
  const after = state.phase === "pending" ? decidedAs("cancelled", undefined) : state;
  if (answered === undefined) return [after, state];
  return answered.status === 200 ? holds(after, answered) : NEVER;
}

function verdict(
  state: RequestState,
  wanted: "approve" | "deny",
  answered: Answered | undefined,
): Step {
  if (state.phase === "absent") return refusedAs(state, answered, 404);
  if (state.phase !== "pending") {
    // A repeated verdict may return the stored decision.
    if (answered?.status === 200 && state.phase === "decided") return holds(state, answered);
    if (answered?.status === 200 && state.phase === "deleted") return holdsBefore(state, answered);
    return refusedAs(state, answered, 409);
  }
  const after = decidedAs(wanted === "approve" ? "approved" : "denied", undefined);
  if (answered === undefined) return [after, state];
  return answered.status === 200 ? holds(after, answered) : NEVER;
}

/** A pending request is cancelled with it, and none of them can be read again. */
function remove(state: RequestState, answered: Answered | undefined): Step {
  if (answered !== undefined && answered.status !== 204) return NEVER;
  if (state.phase === "deleted") return [state];
  if (state.phase === "absent") return [{ phase: "deleted", before: undefined }];
  const before = state.phase === "pending" ? decidedAs("cancelled", undefined) : state;
  return [{ phase: "deleted", before }];
}

function holdsBefore({ before }: Extract<RequestState, { phase: "deleted" }>, answered: Answered) {
  if (before === undefined) return NEVER;
  return holds(before, answered).map((after): RequestState => {
    return { phase: "deleted", before: after.phase === "decided" ? after : before };
  });
}

function refusedAs(state: RequestState, answered: Answered | undefined, status: number): Step {
  return answered === undefined || answered.status === status ? [state] : NEVER;
}

/** The answer shows this state; a decision that was not seen before is known from now on. */
function holds(state: RequestState, { request }: Answered): Step {
  if (state.phase === "pending") return request?.status === "pending" ? [state] : NEVER;
  if (state.phase !== "decided" || request?.status !== state.status) return NEVER;
  const decision = textOf(request);
  if (state.decision !== undefined && state.decision !== decision) return NEVER;
  return [decidedAs(state.status, decision)];
}

function textOf({ decision }: ApprovalRequest): string {
  const { status, note, decided_at, expires_at } = decision ?? {};
  return JSON.stringify([status, note, decided_at, expires_at]);
}

function decidedAs(status: TerminalStatus, decision: string | undefined): Decided {
  return { phase: "decided", status, decision };
}

export function isTerminal(status: string): status is TerminalStatus {
  return (TERMINAL as readonly string[]).includes(status);
}
