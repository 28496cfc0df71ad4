import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { isOverdue, type StoredRequest } from "../../core/request.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import { recheckInstance } from "../../steps/access/recheckInstance.ts";
import { expireRequest } from "../../steps/requests/expireRequest.ts";
import { readRequestOfInstance } from "../../storage/sql/requests/requests.ts";

export interface Waiting {
  /** How long to wait while the request is pending. */
  readonly waitMs: number;
  /** Calls back when the client has gone, or has its answer. */
  readonly onDisconnect: (callback: () => void) => void;
}

/**
 * Answers a request of the calling instance, if asked to only once it is terminal or the wait
 * is over. Waiting extends nothing.
 *
 * @throws Problem `not_found`, alike for unknown ids and those of other instances;
 *   `invalid_credential` when the credential was revoked or has expired while the poll waited
 * @see contract: Endpoints, GET /v1/requests/{id}
 */
export async function getApprovalRequest(
  context: Context,
  caller: InstanceCaller,
  id: string,
  waiting?: Waiting,
): Promise<StoredRequest> {
  // A long poll keeps no request in memory: it reads before and after.
  const hasWaited = waiting !== undefined && (await resolvedOrOver(context, caller, id, waiting));
  const request = await readCurrent(context, caller, id);
  // After the request: a deletion that was committed before the read is noticed here.
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
 * Subscribes first and reads after that, so that no resolution falls between the two.
 *
 * @returns whether the request was pending, so that the poll waited
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
