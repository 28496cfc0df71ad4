/**
 * Time in conditions: reading timestamps and durations, the parts of a timestamp in UTC, and the
 * hour and weekday in a time zone.
 *
 * Promises: the answer depends on the arguments alone, not on the zone of the machine.
 */

import { Fault } from "./fault.ts";
import { duration, timestamp } from "./operators.ts";
import type { Duration, Timestamp } from "./values.ts";

const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;
const TIME_CHARS_MAX = 64;

const NO_TIMESTAMP = new Fault("the text is not a timestamp as in RFC 3339");
const NO_DURATION = new Fault("the text is not a duration such as 1h30m");

export function readTimestamp(text: string): Timestamp | Fault {
  const parts = text.length > TIME_CHARS_MAX ? null : RFC_3339.exec(text);
  if (parts === null) return NO_TIMESTAMP;
  const [, year, month, day, hour, minute, second] = parts.map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day ?? 0);
  date.setUTCHours(hour ?? 0, minute ?? 0, second ?? 0);
  // The 30th of February would have become a day in March.
  if (date.toISOString().slice(0, 19) !== text.slice(0, 19)) return NO_TIMESTAMP;
  const [offsetHours, offsetMinutes] = [Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  if (offsetHours > 23 || offsetMinutes > 59) return NO_TIMESTAMP;
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000 * (parts[8] === "-" ? -1 : 1);
  const nanos = BigInt((parts[7] ?? "").padEnd(9, "0"));
  return timestamp(BigInt(date.getTime() - offset) * 1_000_000n + nanos);
}

const UNIT_NANOS: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1_000n,
  µs: 1_000n,
  ns: 1n,
};
const DURATION = /^[+-]?(?:0|(?:(?:\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})(?:h|ms|m|s|us|µs|ns))+)$/;
const DURATION_PART = /(\d*)(?:\.(\d*))?(h|ms|m|s|us|µs|ns)/g;

/** As Go reads durations: `90s`, `1h30m`, `-1.5h`. */
export function readDuration(text: string): Duration | Fault {
  if (text.length > TIME_CHARS_MAX || !DURATION.test(text)) return NO_DURATION;
  let nanos = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of text.matchAll(DURATION_PART)) {
    const size = UNIT_NANOS[unit] ?? 0n;
    const part = BigInt(fraction.padEnd(9, "0")) * size;
    nanos += BigInt(whole === "" ? "0" : whole) * size + part / 1_000_000_000n;
  }
  return duration(text.startsWith("-") ? -nanos : nanos);
}

/** The parts of a timestamp in UTC, by the names CEL has for them. */
export const TIMESTAMP_PARTS: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: (date) => {
    const newYear = new Date(date);
    newYear.setUTCMonth(0, 1);
    newYear.setUTCHours(0, 0, 0, 0);
    return Math.floor((date.getTime() - newYear.getTime()) / 86_400_000);
  },
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

/** The whole of a duration in one unit. */
export const DURATION_PARTS: Readonly<Record<string, bigint>> = {
  getHours: 3_600_000_000_000n,
  getMinutes: 60_000_000_000n,
  getSeconds: 1_000_000_000n,
  getMilliseconds: 1_000_000n,
};

export function dateOf({ nanos }: Timestamp): Date {
  const ms = nanos / 1_000_000n;
  return new Date(Number(nanos < 0n && nanos % 1_000_000n !== 0n ? ms - 1n : ms));
}

export interface Zone {
  /** 0 to 23. */
  hour(date: Date): number;
  /** 1 is Monday, 7 is Sunday. */
  weekday(date: Date): number;
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** @returns undefined when there is no such zone */
export function readZone(name: string): Zone | undefined {
  try {
    const inZone = { timeZone: name } as const;
    const hours = new Intl.DateTimeFormat("en-US", {
      ...inZone,
      hour: "2-digit",
      hourCycle: "h23",
    });
    const days = new Intl.DateTimeFormat("en-US", { ...inZone, weekday: "short" });
    return {
      hour: (date) => Number(hours.format(date)),
      weekday: (date) => WEEKDAYS.indexOf(days.format(date)) + 1,
    };
  } catch {
    return undefined;
  }
}
