import type { Context } from "../../context.ts";
import { InsightCount, type Insights, type RequestFilter } from "../../core/request-filter.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { scanHistory, scanStart } from "../../steps/history/scanHistory.ts";
import { SCANNED_MAX } from "./listHistory.ts";

export interface HistorySummary extends Insights {
  readonly scannedCount: number;
  /** True when all matching requests were counted. */
  readonly isComplete: boolean;
  /** Epoch ms of the oldest scanned decision; undefined when none was scanned. */
  readonly scannedBackTo: number | undefined;
}

/**
 * Statistics over the latest resolved requests of the caller's project.
 *
 * @param signal aborted when the client disconnects
 * @throws the reason of the signal
 */
export async function summarizeHistory(
  { store }: Pick<Context, "store">,
  { projectId, reviewerId }: ReviewerCaller,
  filter: RequestFilter,
  signal?: AbortSignal,
): Promise<HistorySummary> {
  const count = new InsightCount(reviewerId);
  let scannedCount = 0;
  let isComplete = false;
  let scannedBackTo: number | undefined;
  const from = scanStart(filter);
  const scan = { projectId, filter, direction: "older", from, signal } as const;
  for await (const { found, scanned, last, isEnd } of scanHistory(store, scan)) {
    for (const outline of found) count.add(outline);
    scannedCount += scanned;
    scannedBackTo = last?.at ?? scannedBackTo;
    isComplete = isEnd;
    if (scannedCount >= SCANNED_MAX) break;
  }
  return { ...count.result(), scannedCount, isComplete, scannedBackTo };
}
