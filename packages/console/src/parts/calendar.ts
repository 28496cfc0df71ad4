/** Days and hours of the reader's calendar, in the chosen time zone. */

import { zoneOffset } from "@countersign/review-api/time-zone";
import { timeZone } from "./time-words.ts";

const HOUR_MS = 3_600_000;

function offsetAt(at: number): number {
  return zoneOffset(at, timeZone.value);
}

/** The moment at which the clock shows midnight of a day. @param midnight as if it was UTC */
function startOfWallDay(midnight: number): number {
  // The first guess can be on the other side of a change of the clock.
  const guess = midnight - offsetAt(midnight);
  return midnight - offsetAt(guess);
}

/**
 * @param day like `2026-11-22`
 * @param later days to add
 * @returns epoch ms of its first moment; undefined when the text is not a valid day
 */
export function startOfDate(day: string, later = 0): number | undefined {
  const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day) ?? [];
  if (date === undefined) return undefined;
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(date) + later);
  return startOfWallDay(midnight);
}

/** The first moment of the day of a time, or of an earlier day. @param at epoch ms */
export function startOfDay(at: number, earlier = 0): number {
  const wall = new Date(at + offsetAt(at));
  return startOfWallDay(
    Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate() - earlier),
  );
}

/** The first moment of the hour of a time. @param at epoch ms */
export function startOfHour(at: number): number {
  const offset = offsetAt(at);
  return Math.floor((at + offset) / HOUR_MS) * HOUR_MS - offset;
}
