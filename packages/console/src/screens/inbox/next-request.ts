/** The order in which a reviewer gets from one request to the next. Pure. */

import type { PendingRequest } from "../../live/pending-request.ts";
import type { RequestGroup } from "./groups.ts";

/** Whether the caller can decide it now, and no other reviewer works on it. */
function isFree({ held, claim, may_decide }: PendingRequest, now: number): boolean {
  const isClaimed = claim !== undefined && !claim.own && Date.parse(claim.until) > now;
  return may_decide.approve && held === undefined && !isClaimed;
}

/**
 * The request to open after a decision: the next one below in the list, else the first one. A
 * decided request may have left the list already.
 *
 * @param order ids of the list as it was while the request was open
 * @param now the server's time, epoch ms
 */
export function requestAfter(
  id: string,
  order: readonly string[],
  requests: readonly PendingRequest[],
  now: number,
): PendingRequest | undefined {
  const free = requests.filter((request) => request.id !== id && isFree(request, now));
  const at = order.indexOf(id);
  const below = new Set(at < 0 ? [] : order.slice(at + 1));
  return free.find((request) => below.has(request.id)) ?? free[0];
}

/** The group above or below the current one; without a current one, the first. */
export function neighbourOf(
  groups: readonly RequestGroup[],
  current: string | undefined,
  by: number,
): RequestGroup | undefined {
  const at = groups.findIndex(({ key }) => key === current);
  return at < 0 ? groups[0] : groups[at + by];
}

/** The groups from one to another, both included, in whatever direction. */
export function rangeOf(
  groups: readonly RequestGroup[],
  from: string | undefined,
  to: string,
): readonly RequestGroup[] {
  const end = groups.findIndex(({ key }) => key === to);
  const start = groups.findIndex(({ key }) => key === from);
  if (end < 0) return [];
  if (start < 0) return groups.slice(end, end + 1);
  return groups.slice(Math.min(start, end), Math.max(start, end) + 1);
}
