/** `given.history` of a policy test: the number of earlier calls. */

import {
  type CallHistory,
  HISTORY_CALLS_MAX,
  HISTORY_NAMES,
  type HistoryName,
  type HistoryQuery,
  historyKey,
  isHistoryName,
  readWindowMs,
} from "./history.ts";
import type { PolicyDocument, YamlLocation } from "./policy-document.ts";

const COUNT_MAX = 1_000_000_000;

/**
 * @param queries of the policy's rules; a query without a count is 0, and a count without a query
 * is a fault
 */
export function readTestHistory(
  document: PolicyDocument,
  location: YamlLocation | undefined,
  queries: readonly HistoryQuery[],
): CallHistory {
  const counts = new Map<string, number | null>(queries.map((each) => [historyKey(each), 0]));
  const names = location === undefined ? undefined : document.map(location, HISTORY_NAMES);
  for (const [name, spans] of names ?? []) {
    if (!isHistoryName(name)) continue;
    for (const [text, at] of document.members(spans) ?? []) {
      const count = document.integer(at, 0, COUNT_MAX);
      const key = keyIn(document, at, name, text);
      if (key === undefined || count === undefined) continue;
      if (counts.has(key)) counts.set(key, count > HISTORY_CALLS_MAX ? null : count);
      else document.add(at, `no rule uses history.${name}("${text}")`);
    }
  }
  return counts;
}

function keyIn(
  document: PolicyDocument,
  at: YamlLocation,
  name: HistoryName,
  text: string,
): string | undefined {
  const windowMs = readWindowMs(text);
  if (windowMs !== undefined) return historyKey({ name, windowMs });
  document.add(at, "expected a time from 1s to 31d, such as 24h");
  return undefined;
}
