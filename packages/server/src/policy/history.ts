/**
 * History queries of a condition: the number of earlier calls within a literal time window. They
 * are counted before the evaluation, which stays pure.
 *
 * Guarantees: a count that is missing or too large is a fault, never a number.
 */

import { Fault } from "./fault.ts";

/** `history.NAME("1h")`; names without `instance_` count calls of the same tool. */
export const HISTORY_NAMES = [
  "calls",
  "approved",
  "denied",
  "instance_calls",
  "instance_approved",
  "instance_denied",
] as const;

export type HistoryName = (typeof HISTORY_NAMES)[number];

/** Which calls to count, in which window. */
export interface HistoryQuery {
  readonly name: HistoryName;
  readonly windowMs: number;
}

/**
 * Counts by {@link historyKey}; null: the window has more than {@link HISTORY_CALLS_MAX} calls, or
 * is longer than the retention.
 */
export type CallHistory = ReadonlyMap<string, number | null>;

/** Maximum counted calls. */
export const HISTORY_CALLS_MAX = 10_000;

/** Longest window of a history query. */
export const HISTORY_MS_MAX = 31 * 24 * 3_600_000;

/** Maximum different windows in one policy. */
export const HISTORY_WINDOWS_MAX = 8;

export function historyKey({ name, windowMs }: HistoryQuery): string {
  return `${name} ${windowMs}`;
}

export function isHistoryName(name: string): name is HistoryName {
  return (HISTORY_NAMES as readonly string[]).includes(name);
}

const WINDOW = /^([1-9][0-9]{0,6})([smhd])$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 24 * 3_600_000,
};

/** @returns milliseconds; undefined unless it is a duration from 1 s to 31 d */
export function readWindowMs(text: string): number | undefined {
  const [, amount = "", unit = ""] = WINDOW.exec(text) ?? [];
  const windowMs = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  return windowMs > 0 && windowMs <= HISTORY_MS_MAX ? windowMs : undefined;
}

const UNKNOWN = new Fault("the history of calls is not available here");
const UNCOUNTED = new Fault(
  `cannot count the calls: more than ${HISTORY_CALLS_MAX}, or beyond the retention`,
);

/** @param history undefined where calls are not counted */
export function answerHistoryQuery(history: CallHistory | undefined, key: string): bigint | Fault {
  const count = history?.get(key);
  if (count === undefined) return UNKNOWN;
  return count === null ? UNCOUNTED : BigInt(count);
}
