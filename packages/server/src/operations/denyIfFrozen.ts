import type { Context } from "../context.ts";
import { endingOf } from "../core/freeze.ts";
import type { StoredRequest } from "../core/request.ts";
import { findFreeze } from "../storage/sql/standing-freezes.ts";
import type { Transaction } from "../storage/store.ts";
import { type Ended, resolveRequest } from "./resolveRequest.ts";

/**
 * Denies a request that somebody is about to approve, or to vote for, while a freeze covers it.
 * To be asked between the lock and the approval: whoever freezes waits for that lock, so that no
 * approval is recorded after the freeze has been answered.
 *
 * Called by: castVerdict.
 *
 * @param request as read by a `lock` of this transaction
 * @returns undefined when nothing covers it, or it has a decision already
 */
export async function denyIfFrozen(
  tx: Transaction,
  context: Pick<Context, "random">,
  request: StoredRequest,
): Promise<Ended | undefined> {
  if (request.decision !== null) return undefined;
  const freeze = await findFreeze(tx, request);
  return freeze && (await resolveRequest(tx, context, request, endingOf(freeze)));
}
