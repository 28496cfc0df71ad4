/**
 * What is counted when metrics are asked for.
 *
 * Called by: provider.ts.
 */

import type { Clock } from "./clock.ts";
import type { Context } from "./context.ts";
import { countPendingRequests } from "./operations/countPendingRequests.ts";
import { countWaitingNotifications } from "./operations/countWaitingNotifications.ts";
import type { Report } from "./report.ts";

export function observe(context: Context, report: Report): void {
  const { clock, wake } = context;
  report.observe({
    pollsHeld: () => wake.waiting,
    requestsPending: remembered(clock, () => countPendingRequests(context)),
    deliveriesWaiting: remembered(clock, () => countWaitingNotifications(context)),
  });
}

/** Counting goes through all rows, and anybody may ask: a large count is good for a while. */
const LARGE_COUNT = 10_000;
const LARGE_COUNT_MS = 5_000;

function remembered(clock: Clock, count: () => Promise<number>): () => Promise<number> {
  let counting: Promise<number> | undefined;
  let large = { count: 0, at: Number.NEGATIVE_INFINITY };
  return async () => {
    if (Math.abs(clock.now() - large.at) < LARGE_COUNT_MS) return large.count;
    counting ??= count().finally(() => {
      counting = undefined;
    });
    const counted = await counting;
    if (counted >= LARGE_COUNT) large = { count: counted, at: clock.now() };
    return counted;
  };
}
