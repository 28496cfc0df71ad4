import type { Context } from "../../context.ts";
import { InsightCount, type Insights, type RequestFilter } from "../../core/request-filter.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { LOOKED_AT_MAX } from "./listHistory.ts";
import { newestOf, walkHistory } from "./walkHistory.ts";

export interface HistorySummary extends Insights {
  readonly lookedAt: number;
  /** Whether nothing older was left out. */
  readonly isComplete: boolean;
  /** Epoch ms of the oldest decision that was looked at; undefined when none was. */
  readonly lookedBackTo: number | undefined;
}

/**
 * Counts what became of requests of the caller's project, the newest of them.
 *
 * @param signal aborted when nobody waits for it any more
 * @throws the reason of the signal
 */
export async function summarizeHistory(
  { store }: Pick<Context, "store">,
  { projectId, reviewerId }: ReviewerCaller,
  filter: RequestFilter,
  signal?: AbortSignal,
): Promise<HistorySummary> {
  const count = new InsightCount(reviewerId);
  let lookedAt = 0;
  let isComplete = false;
  let lookedBackTo: number | undefined;
  const from = newestOf(filter);
  const walk = { projectId, filter, direction: "older", from, signal } as const;
  for await (const { found, looked, last, isEnd } of walkHistory(store, walk)) {
    for (const outline of found) count.add(outline);
    lookedAt += looked;
    lookedBackTo = last?.at ?? lookedBackTo;
    isComplete = isEnd;
    if (lookedAt >= LOOKED_AT_MAX) break;
  }
  return { ...count.result(), lookedAt, isComplete, lookedBackTo };
}
