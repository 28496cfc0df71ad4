/**
 * History queries of a condition: how many calls there were before this one within a span of
 * time that is written out. They are counted beforehand, so evaluating stays pure.
 *
 * Promises: what was not counted, or is too much to count, is a fault and no number.
 */

import { Fault } from "./fault.ts";

/** `history.NAME("1h")`; without `instance_`, of calls of the same tool. */
export const HISTORY_NAMES = [
  "calls",
  "approved",
  "denied",
  "instance_calls",
  "instance_approved",
  "instance_denied",
] as const;

export type HistoryName = (typeof HISTORY_NAMES)[number];

/** Which calls to count, and how far back. */
export interface HistoryQuery {
  readonly name: HistoryName;
  readonly windowMs: number;
}

/**
 * How many calls there were, by {@link historyKey}; null: more than {@link HISTORY_CALLS_MAX} lie
 * in that time, or it reaches further back than calls are kept.
 */
export type CallHistory = ReadonlyMap<string, number | null>;

/** Above it nothing is counted. */
export const HISTORY_CALLS_MAX = 10_000;

/** How far back a history query can reach. */
export const HISTORY_MS_MAX = 31 * 24 * 3_600_000;

/** Different spans of time in one policy. */
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

/** @returns milliseconds, or undefined when it is no duration of 1 s to 31 d */
export function readWindowMs(text: string): number | undefined {
  const [, amount = "", unit = ""] = WINDOW.exec(text) ?? [];
  const windowMs = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  return windowMs > 0 && windowMs <= HISTORY_MS_MAX ? windowMs : undefined;
}

const UNKNOWN = new Fault("the history of calls is not available here");
const UNCOUNTED = new Fault(
  `cannot count the calls of that time: more than ${HISTORY_CALLS_MAX}, or not kept for so long`,
);

/** @param history undefined where calls are not counted */
export function answerHistoryQuery(history: CallHistory | undefined, key: string): bigint | Fault {
  const count = history?.get(key);
  if (count === undefined) return UNKNOWN;
  return count === null ? UNCOUNTED : BigInt(count);
}
