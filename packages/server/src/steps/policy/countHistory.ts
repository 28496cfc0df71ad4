import type { Context } from "../../context.ts";
import {
  type CallHistory,
  HISTORY_CALLS_MAX,
  type HistoryName,
  type HistoryQuery,
  historyKey,
} from "../../policy/history.ts";
import { sameToolNames, type ToolName, writeToolName } from "../../policy/tool-names.ts";
import { type CountedCalls, countCalls } from "../../storage/sql/history/call-history.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Reader } from "../../storage/store.ts";

/** The call for which earlier calls are counted. */
export interface HistorySubject extends InstanceKey {
  readonly name: ToolName;
  /** Epoch ms. */
  readonly at: number;
  /** True for a past call: decisions after it are then excluded. */
  readonly isPast?: boolean;
}

const OF_TOOL: Readonly<Record<HistoryName, boolean>> = {
  calls: true,
  approved: true,
  denied: true,
  instance_calls: false,
  instance_approved: false,
  instance_denied: false,
};

const STATUSES: Readonly<Record<HistoryName, CountedCalls["status"]>> = {
  calls: undefined,
  approved: "approved",
  denied: "denied",
  instance_calls: undefined,
  instance_approved: "approved",
  instance_denied: "denied",
};

/**
 * Counts the earlier calls that rules query.
 *
 * @param asked at least one
 * @throws Failure when the engine cannot count; then nothing may be approved
 */
export async function countHistory(
  reader: Reader,
  { settings, clock }: Pick<Context, "settings" | "clock">,
  { projectId, instanceId, name, at, isPast = false }: HistorySubject,
  queries: readonly HistoryQuery[],
): Promise<CallHistory> {
  const history = new Map<string, number | null>();
  // Purged calls cannot be counted, and a count that is too low could permit a call.
  const keptSince = (isPast ? clock.now() : at) - settings.retentionMs;
  const kept = queries.filter(({ windowMs }) => at - windowMs >= keptSince);
  for (const each of queries) history.set(historyKey(each), null);
  for (const ofTool of [true, false]) {
    const same = kept.filter(({ name }) => OF_TOOL[name] === ofTool);
    if (same.length === 0) continue;
    const spans = same.map(({ name, windowMs }) => {
      return { since: at - windowMs, status: STATUSES[name] };
    });
    const names = ofTool ? sameToolNames(name).map(writeToolName) : [undefined];
    // Sent together.
    const counted = await Promise.all(
      names.map((tool) =>
        countCalls(
          reader,
          { projectId, instanceId },
          { tool, spans, callsMax: HISTORY_CALLS_MAX, asOf: isPast ? at : undefined },
        ),
      ),
    );
    for (const [index, each] of same.entries()) {
      const counts = counted.map((spanCounts) => spanCounts[index] ?? null);
      history.set(historyKey(each), sumOf(counts));
    }
  }
  return history;
}

/** @returns null when a count is unknown, or the sum is too large */
function sumOf(counts: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const count of counts) {
    if (count === null) return null;
    sum += count;
  }
  return sum > HISTORY_CALLS_MAX ? null : sum;
}
