/**
 * Times in words, in the reader's time zone. Pure, so that it is tested without a browser.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const EXACT = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_OF_YEAR = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
});

/** Like `22 Nov 2026, 14:03:05 CET`. @param at epoch ms */
export function exactTime(at: number): string {
  return EXACT.format(at);
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
    if (words === undefined) return "just now";
    return at > now ? `in ${words}` : `${words} ago`;
  }
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return isThisYear ? `${DAY.format(at)}, ${CLOCK.format(at)}` : DAY_OF_YEAR.format(at);
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
  if (ms < 10 * SECOND_MS) return `${(ms / SECOND_MS).toFixed(1).replace(/\.0$/, "")} s`;
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
