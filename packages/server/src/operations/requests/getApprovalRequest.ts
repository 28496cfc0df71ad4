import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { isOverdue, type StoredRequest } from "../../core/request.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import { recheckInstance } from "../../steps/access/recheckInstance.ts";
import { expireRequest } from "../../steps/requests/expireRequest.ts";
import { readRequestOfInstance } from "../../storage/sql/requests/requests.ts";

export interface Waiting {
  /** Maximum wait while the request is pending. */
  readonly waitMs: number;
  /** Calls back when the client disconnects or has its answer. */
  readonly onDisconnect: (callback: () => void) => void;
}

/**
 * Returns a request of the calling instance; with a wait, after it is terminal or the wait is over.
 * Waiting does not extend the deadline.
 *
 * @throws Problem `not_found`, also for requests of other instances; `invalid_credential` when the
 * credential was revoked or has expired during the poll
 * @see contract: Endpoints, GET /v1/requests/{id}
 */
export async function getApprovalRequest(
  context: Context,
  caller: InstanceCaller,
  id: string,
  waiting?: Waiting,
): Promise<StoredRequest> {
  // A long poll holds no request in memory: it reads before and after the wait.
  const hasWaited = waiting !== undefined && (await resolvedOrOver(context, caller, id, waiting));
  const request = await readCurrent(context, caller, id);
  // After the request, so that an earlier committed deletion is detected.
  if (hasWaited) await recheckInstance(context, caller);
  return request;
}

async function readCurrent(
  context: Context,
  caller: InstanceCaller,
  id: string,
): Promise<StoredRequest> {
  const request = await readRequestOfInstance(context.store, caller, id);
  if (request === undefined) throw new Problem("not_found");
  return isOverdue(request, context.clock.now()) ? expireRequest(context, request) : request;
}

async function isPending(context: Context, caller: InstanceCaller, id: string): Promise<boolean> {
  return (await readCurrent(context, caller, id)).decision === null;
}

/**
 * Subscribes before it reads, so that no resolution is missed in between.
 *
 * @returns true when the request was pending, so that the poll waited
 */
async function resolvedOrOver(
  context: Context,
  caller: InstanceCaller,
  id: string,
  { waitMs, onDisconnect }: Waiting,
): Promise<boolean> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const unsubscribe = context.wake.onResolved(id, caller.projectId, end);
  const cancelTimer = context.clock.after(waitMs, end);
  onDisconnect(end);
  try {
    if (!(await isPending(context, caller, id))) return false;
    await ended;
    return true;
  } finally {
    cancelTimer();
    unsubscribe();
  }
}
