/**
 * The three operations of agents, and what ends a request.
 */

import { randomUUID } from "node:crypto";
import { type JsonValue, Problem } from "@countersign/protocol";
import type { Ledger } from "./conduct.ts";
import type { Cause, StoredInstance, StoredRequest, Terminal } from "./ledger.ts";
import { notify } from "./notifications.ts";
import { requestText } from "./wire.ts";

/** The successful result of an operation. */
export interface Done {
  readonly status: number;
  readonly text: string | undefined;
  readonly isReplay: boolean;
}

/** The longest time a timer takes. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export async function createRequest(
  ledger: Ledger,
  caller: StoredInstance,
  key: string,
  body: JsonValue,
): Promise<Done> {
  const { conduct } = ledger;
  const input = conduct.readCreate(body);
  const scope = conduct.submissionScope(caller, key);
  const kept = ledger.submissions.get(scope);
  if (kept !== undefined) {
    if (!conduct.isSameInput("createApprovalRequest", kept.body, body)) {
      throw new Problem("idempotency_conflict");
    }
    conduct.replayed(kept.request, ledger);
    return { status: 200, text: show(ledger, kept.request), isReplay: true };
  }
  const pause = conduct.pause("createApprovalRequest");
  // Without a fault looking up and recording are one step.
  if (pause !== undefined) await pause;
  const createdAt = Date.now();
  const request: StoredRequest = {
    id: randomUUID(),
    instance: conduct.owner(caller, body, ledger),
    input,
    createdAt,
    deadlineAt: conduct.deadline(createdAt, input.timeoutMs),
    decision: undefined,
    polls: new Set(),
    timer: undefined,
  };
  ledger.requests.set(request.id, request);
  ledger.submissions.set(scope, { body, request });
  if (conduct.expiresByItself(request)) awaitDeadline(ledger, request);
  return { status: 201, text: requestText(ledger, request), isReplay: false };
}

export async function readRequest(
  ledger: Ledger,
  caller: StoredInstance,
  id: string,
  waitMs: number,
  gone: AbortSignal,
): Promise<Done> {
  const request = reach(ledger, caller, id, false);
  settle(ledger, request);
  const holdMs = Math.min(ledger.conduct.hold(waitMs, request), TIMER_MS_MAX);
  if (holdMs > 0) await holdPoll(ledger, request, holdMs, gone);
  return { status: 200, text: show(ledger, request), isReplay: false };
}

export async function cancelRequest(
  ledger: Ledger,
  caller: StoredInstance,
  id: string,
): Promise<Done> {
  const request = reach(ledger, caller, id, true);
  settle(ledger, request);
  const status = request.decision?.status;
  const effect = status === undefined ? "cancel" : ledger.conduct.cancelDecided(status);
  if (effect === "conflict") throw new Problem("already_terminal");
  const pause = ledger.conduct.pause("cancelApprovalRequest");
  if (pause !== undefined) await pause;
  if (effect === "cancel") resolve(ledger, request, "cancelled", "cancel");
  return { status: 200, text: show(ledger, request), isReplay: false };
}

/** @returns whether the verdict is the decision now */
export function decide(
  ledger: Ledger,
  id: string,
  status: "approved" | "denied",
  note?: string,
): boolean {
  const request = ledger.requests.get(id);
  if (request === undefined) return false;
  settle(ledger, request);
  if (!ledger.conduct.mayDecide(request, Date.now())) return false;
  resolve(ledger, request, status, "verdict", note);
  return true;
}

/** Ends a request, and all that waits for its end. */
export function resolve(
  ledger: Ledger,
  request: StoredRequest,
  status: Terminal,
  cause: Cause,
  note?: string,
): void {
  const decidedAt = Date.now();
  const expiresAt = status === "approved" ? decidedAt + ledger.options.validityMs : undefined;
  const decision = { status, note, decidedAt, expiresAt };
  clearTimeout(request.timer);
  request.decision = ledger.conduct.record(decision, request, cause);
  notify(ledger, request, request.decision, cause);
  if (!ledger.conduct.wakes(cause)) return;
  for (const end of request.polls) end();
}

function awaitDeadline(ledger: Ledger, request: StoredRequest): void {
  const leftMs = Math.min(request.deadlineAt - Date.now(), TIMER_MS_MAX);
  request.timer = setTimeout(() => {
    settle(ledger, request);
    // Timers fire a little early, and the longest windows need several.
    if (request.decision === undefined) awaitDeadline(ledger, request);
  }, leftMs);
}

function settle(ledger: Ledger, request: StoredRequest): void {
  ledger.conduct.settle(request, ledger, () => resolve(ledger, request, "expired", "deadline"));
}

function show(ledger: Ledger, request: StoredRequest): string {
  settle(ledger, request);
  return requestText(ledger, request);
}

function reach(
  ledger: Ledger,
  caller: StoredInstance,
  id: string,
  isCancel: boolean,
): StoredRequest {
  const request = ledger.requests.get(ledger.conduct.pathId(id) ?? "");
  if (request !== undefined && ledger.conduct.reachesRequest(caller, request, isCancel)) {
    return request;
  }
  throw new Problem("not_found");
}

async function holdPoll(
  ledger: Ledger,
  request: StoredRequest,
  holdMs: number,
  gone: AbortSignal,
): Promise<void> {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const timer = setTimeout(end, holdMs);
  const signal = AbortSignal.any([gone, ledger.closing.signal]);
  signal.addEventListener("abort", () => end());
  request.polls.add(end);
  await promise;
  request.polls.delete(end);
  clearTimeout(timer);
}
