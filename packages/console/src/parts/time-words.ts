/**
 * Times in words, in the reader's time zone: the only place of the pages that formats a time. It
 * needs no browser, so that it is tested without one.
 */

import { computed, signal } from "@preact/signals";
import { locale } from "../language/language.ts";
import { formatNumber, t } from "../language/t.ts";

/** A zone of the IANA database; undefined: the browser's zone. */
export const timeZone = signal<string>();

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

interface Formats {
  readonly exact: Intl.DateTimeFormat;
  readonly clock: Intl.DateTimeFormat;
  readonly day: Intl.DateTimeFormat;
  readonly weekday: Intl.DateTimeFormat;
  readonly year: Intl.DateTimeFormat;
}

const DAY = { day: "numeric", month: "short" } as const;
const CLOCK = { hour: "2-digit", minute: "2-digit" } as const;
const SECONDS = { second: "2-digit", timeZoneName: "short" } as const;

const formats = computed<Formats>(() => {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { ...options, timeZone: timeZone.value });
  return {
    exact: format({ ...DAY, year: "numeric", ...CLOCK, ...SECONDS }),
    clock: format(CLOCK),
    day: format(DAY),
    weekday: format({ weekday: "short" }),
    year: format({ year: "numeric" }),
  };
});

/** Like `22 Nov 2026, 14:03:05 CET`. @param at epoch ms */
export function exactTime(at: number): string {
  return formats.value.exact.format(at);
}

/** Like `14:03`. @param at epoch ms */
export function clockTime(at: number): string {
  return formats.value.clock.format(at);
}

/** Like `22 Nov`. @param at epoch ms */
export function dayOfMonth(at: number): string {
  return formats.value.day.format(at);
}

/** Like `22 Nov, 14:03`. @param at epoch ms */
export function dayAndClock(at: number): string {
  return `${dayOfMonth(at)}, ${clockTime(at)}`;
}

/** Like `Mon, 22 Nov`. @param at epoch ms */
export function weekdayAndDay(at: number): string {
  return `${formats.value.weekday.format(at)}, ${dayOfMonth(at)}`;
}

/** Like `Mon 14:03`, and a week or more ahead `22 Nov, 14:03`. @param at epoch ms */
export function futureTime(at: number, now: number): string {
  const { weekday } = formats.value;
  return at - now < WEEK_MS ? `${weekday.format(at)} ${clockTime(at)}` : dayAndClock(at);
}

/**
 * Like `4 min ago`, `in 2 h`, and beyond a day `22 Nov, 14:03`; of another year without the clock.
 *
 * @param at epoch ms
 * @param now epoch ms, the server's
 */
export function relativeTime(at: number, now: number): string {
  const distance = Math.abs(now - at);
  if (distance < DAY_MS) {
    const words = roughly(distance);
    if (words === undefined) return t`just now`;
    return at > now ? t`in ${words}` : t`${words} ago`;
  }
  const { year } = formats.value;
  const isThisYear = year.format(at) === year.format(now);
  return isThisYear ? dayAndClock(at) : `${dayOfMonth(at)} ${year.format(at)}`;
}

function roughly(ms: number): string | undefined {
  if (ms < 2 * SECOND_MS) return undefined;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  return `${Math.floor(ms / HOUR_MS)} h`;
}

/** The largest first. */
const UNITS: readonly (readonly [string, number])[] = [
  ["d", DAY_MS],
  ["h", HOUR_MS],
  ["min", MINUTE_MS],
  ["s", SECOND_MS],
];

/** How long something took or lasts: `0.8 s`, `41 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function durationWords(ms: number): string {
  if (ms < 10 * SECOND_MS) return `${formatNumber(Math.round(ms / 100) / 10)} s`;
  const whole = Math.round(ms / SECOND_MS) * SECOND_MS;
  const first = UNITS.findIndex(([, size]) => whole >= size);
  let rest = whole;
  const words = UNITS.slice(first, first + 2).flatMap(([name, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  return words.join(" ");
}
