/** Handlers of statistics, and of the calls of an agent's session. */

import { formatTimestamp, invalidField } from "@countersign/protocol";
import type { QueryReceived, statisticsOperations } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { StatisticsRange } from "../../core/statistics.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import type { KeyedQueue } from "../../keyed-queue.ts";
import { showAgentSession } from "../../operations/history/showAgentSession.ts";
import { showStatistics } from "../../operations/history/showStatistics.ts";
import { runQueued } from "./history-queue.ts";
import { toWireSession, toWireStatistics } from "./statistics-to-wire.ts";

const BUCKETS_MS = { hour: 3_600_000, day: 24 * 3_600_000 };
const BUCKETS_DEFAULT = { hour: 24, day: 30 };
const BUCKETS_MAX = 1_000;

/** @param queue of queries that may read many rows */
export function statisticsHandlers(
  context: Context,
  queue: KeyedQueue,
): Handlers<typeof statisticsOperations> {
  const now = () => context.clock.now();
  return {
    async showStatistics({ caller, query, reply }) {
      const range = toRange(query, now());
      return runQueued(reply, queue, caller.reviewerId, async (gone) => {
        const statistics = await showStatistics(context, caller, range, gone);
        return toWireStatistics(statistics, range, now());
      });
    },

    async showAgentSession({ caller, path, reply }) {
      return runQueued(reply, queue, caller.reviewerId, async (gone) => {
        const session = await showAgentSession(context, caller, path.id, gone);
        return toWireSession(session, formatTimestamp(now()));
      });
    },
  };
}

/** @throws Problem `invalid_request` that names the parameter */
function toRange(
  { since, until, bucket }: QueryReceived<typeof statisticsOperations.showStatistics>,
  now: number,
): StatisticsRange {
  const bucketMs = BUCKETS_MS[bucket];
  // Includes a decision of this millisecond.
  const end = until ?? now + 1;
  const start = since ?? Math.max(0, end - BUCKETS_DEFAULT[bucket] * bucketMs);
  if (end <= start) {
    if (until === undefined) throw invalidField("since", "must be in the past");
    throw invalidField("until", "must be later than the start of the period (since)");
  }
  if ((end - start) / bucketMs > BUCKETS_MAX) {
    throw invalidField("bucket", `must divide the range into at most ${BUCKETS_MAX} parts`);
  }
  return { since: start, until: end, bucketMs };
}
