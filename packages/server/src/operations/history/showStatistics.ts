import type { Context } from "../../context.ts";
import { type Statistics, StatisticsCount, type StatisticsRange } from "../../core/statistics.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { scanHistory, scanStart } from "../../steps/history/scanHistory.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";

/** Limits the time of one answer to about a second. */
export const STATISTICS_SCANNED_MAX = 50_000;

export interface ShownStatistics extends Statistics {
  readonly scannedCount: number;
  /** True when all requests of the range were counted. */
  readonly isComplete: boolean;
  /** Epoch ms of the oldest scanned decision; undefined when none was scanned. */
  readonly scannedBackTo: number | undefined;
  /** JSON texts by id. */
  readonly instanceNames: ReadonlyMap<string, string>;
  readonly reviewerNames: ReadonlyMap<string, string>;
}

/**
 * Statistics over the latest requests of the caller's project that were resolved in the range.
 *
 * @param signal aborted when the client disconnects
 * @throws the reason of the signal
 */
export async function showStatistics(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  range: StatisticsRange,
  signal?: AbortSignal,
): Promise<ShownStatistics> {
  const { since, until } = range;
  const filter = { ...NO_FILTER, since, until };
  const from = scanStart(filter);
  const count = new StatisticsCount(range);
  let scannedCount = 0;
  let isComplete = false;
  let scannedBackTo: number | undefined;
  for await (const { found, scanned, last, isEnd } of scanHistory(store, {
    projectId,
    filter,
    direction: "older",
    from,
    signal,
  })) {
    for (const outline of found) count.add(outline);
    scannedCount += scanned;
    scannedBackTo = last?.at ?? scannedBackTo;
    isComplete = isEnd;
    if (scannedCount >= STATISTICS_SCANNED_MAX) break;
  }
  const statistics = count.result();
  const { instance, reviewer } = statistics.rankings;
  const [instances, reviewers] = await Promise.all([
    readInstances(
      store,
      projectId,
      instance.top.map(({ key }) => key),
    ),
    readReviewers(
      store,
      projectId,
      reviewer.top.map(({ key }) => key),
    ),
  ]);
  return {
    ...statistics,
    scannedCount,
    isComplete,
    scannedBackTo,
    instanceNames: new Map(Array.from(instances, ([id, { name }]) => [id, name])),
    reviewerNames: new Map(reviewers.map(({ id, name }) => [id, name])),
  };
}

const NO_FILTER = {
  tool: undefined,
  toolPrefix: undefined,
  server: undefined,
  instanceId: undefined,
  decidedBy: undefined,
  statuses: undefined,
};
