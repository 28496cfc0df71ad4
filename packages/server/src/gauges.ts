/** Gauges that are computed for each Prometheus scrape: long polls, rows, the connection pool. */

import { type Clock, systemClock } from "./clock.ts";
import type { Context } from "./context.ts";
import { Failure } from "./failure.ts";
import { measureStreamLag } from "./operations/audit/measureStreamLag.ts";
import { countWaitingNotifications } from "./operations/deliveries/countWaitingNotifications.ts";
import { countPendingRequests } from "./operations/requests/countPendingRequests.ts";
import type { Report, StoreCounts } from "./report.ts";

/** @param lastBackup time of the last complete backup, epoch ms; undefined for PostgreSQL */
export function observe(
  context: Context,
  report: Report,
  lastBackup: (() => number | undefined) | undefined,
): void {
  const { clock, wake, store } = context;
  const countAll = async (): Promise<StoreCounts> => {
    const [requestsPending, deliveriesWaiting, auditStreamLagMs] = await Promise.all([
      countPendingRequests(context),
      countWaitingNotifications(context),
      measureStreamLag(context),
    ]);
    return { requestsPending, deliveriesWaiting, auditStreamLagMs };
  };
  report.observe({
    longPolls: () => wake.waiting,
    countStore: withinLimit(remembered(clock, countAll), report),
    countPool: store.countPool?.bind(store),
    lastBackup,
  });
}

/** Counting scans all rows and needs no credential, so large counts are cached. */
const LARGE_COUNT = 10_000;
const LARGE_COUNT_MS = 5_000;

/** Concurrent scrapes share one count. */
function remembered(clock: Clock, count: () => Promise<StoreCounts>): () => Promise<StoreCounts> {
  let counting: Promise<StoreCounts> | undefined;
  let large: { readonly counts: StoreCounts; readonly at: number } | undefined;
  return async () => {
    if (large !== undefined && Math.abs(clock.now() - large.at) < LARGE_COUNT_MS) {
      return large.counts;
    }
    counting ??= count().finally(() => {
      counting = undefined;
    });
    const counts = await counting;
    const isLarge = counts.requestsPending + counts.deliveriesWaiting >= LARGE_COUNT;
    large = isLarge ? { counts, at: clock.now() } : undefined;
    return counts;
  };
}

/** Prometheus may stop waiting after 1 s, so a scrape answers in time while the database hangs. */
const COUNT_MS_MAX = 500;

/** Uses the system clock, because tests may stop the provider's clock. */
function withinLimit(
  count: () => Promise<StoreCounts>,
  report: Report,
): () => Promise<StoreCounts | undefined> {
  return () =>
    new Promise((resolve) => {
      const fail = (error: unknown): void => {
        cancel();
        report.dependencyFailed("store", error);
        resolve(undefined);
      };
      const cancel = systemClock.after(COUNT_MS_MAX, () => {
        const message = `counting rows for /metrics took longer than ${COUNT_MS_MAX} ms`;
        fail(new Failure("store", message));
      });
      count().then((counts) => {
        cancel();
        resolve(counts);
      }, fail);
    });
}
