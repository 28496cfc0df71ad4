/**
 * When a notification that was not acknowledged is tried again: exponential backoff with jitter,
 * never earlier than the receiver asks, never after 168 hours from the decision.
 *
 * Promise I5 (retries until 2xx, removal, deletion or 168 h) is decided here.
 *
 * @see contract: Events, Delivery rules, 3 and 4
 */

/** Counted from `decision.decided_at`, whatever happens to the receiver meanwhile. */
export const RETRY_WINDOW_MS = 168 * 3_600_000;

export const STEP_MS_MIN = 5_000;
export const STEP_MS_MAX = 3_600_000;

/** How much later than `Retry-After`, so that senders with the same value spread out. */
const LATER_MAX = 0.1;

/** An attempt ends within it (contract: Limits, Notification attempt timeout). */
const ATTEMPT_MS_MAX = 10_000;

/**
 * When attempts begin that are made however long the step has become, as ms before the end of the
 * window: one in the last five minutes and, as the receiver may come back even later, one in the
 * last minute. What fails after `from` began within those minutes and was that attempt itself.
 * Between the two is the longest pause of a breaker.
 */
const LAST_ATTEMPTS = [
  { from: 5 * 60_000 - ATTEMPT_MS_MAX, to: 120_000 },
  { from: 60_000 - ATTEMPT_MS_MAX, to: 30_000 },
] as const;

const DELAY_SECONDS = /^\d+$/;

/** Longer than any window; a number of more digits still means to wait. */
const DELAY_S_MAX = 999_999_999;

const NAME = "(?<name>Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const LONG_NAME = "(?<name>Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const MONTH = "(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const TIME = "(?<time>(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d|23:59:60)";

/** The three forms of a date that a recipient has to accept (RFC 9110 5.6.7). */
const HTTP_DATES = [
  `${NAME}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT`,
  `${LONG_NAME}, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT`,
  `${NAME} ${MONTH} (?<day>\\d{2}| \\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * Reads the header `Retry-After`: seconds, or a date in any of the three forms of HTTP.
 *
 * @param now epoch ms, when the answer came
 * @returns ms from now, positive; undefined when absent, malformed, zero or past
 * @see RFC 9110 10.2.3
 */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const waitMs = DELAY_SECONDS.test(text)
    ? Math.min(Number(text), DELAY_S_MAX) * 1000
    : (parseDate(text, now) ?? now) - now;
  return waitMs > 0 ? waitMs : undefined;
}

/** An attempt that was not acknowledged. Times are epoch milliseconds. */
export interface Failed {
  /** Completed at the current receiver, this one included: >= 1. */
  readonly attempts: number;
  readonly decidedAt: number;
  readonly now: number;
  /** As `parseRetryAfter` returns it; for answers 429 and 503. */
  readonly retryAfterMs: number | undefined;
  /** Even in [0, 1). */
  readonly chance: number;
}

/**
 * The step doubles from 5 s to 1 h; half of it is waited for certain and half by chance, or as
 * long as the receiver asks, if that is longer, and up to a tenth more. What would pass the end
 * of the window becomes an attempt in its last five minutes, and then one in its last minute,
 * unless `Retry-After` is later: a receiver that is back in time is still notified.
 *
 * @returns epoch ms of the next attempt, at most `decidedAt + RETRY_WINDOW_MS`; at that very time
 * nothing is tried any more and the delivery ends
 */
export function nextAttemptAt({ attempts, decidedAt, now, retryAfterMs, chance }: Failed): number {
  const endsAt = decidedAt + RETRY_WINDOW_MS;
  // Many attempts make an infinite power, of which the minimum is still right.
  const stepMs = Math.min(STEP_MS_MIN * 2 ** (attempts - 1), STEP_MS_MAX);
  const backoffMs = stepMs / 2 + (stepMs / 2) * chance;
  const waitMs = Math.max(backoffMs, retryAfterMs ?? 0);
  const laterMs = retryAfterMs === undefined ? 0 : waitMs * LATER_MAX * chance;
  const at = now + Math.ceil(waitMs + laterMs);
  return at < endsAt ? at : lastAttemptAt(endsAt, now, now + (retryAfterMs ?? 0), chance);
}

/** @returns `endsAt` when the last attempt has been made, or may not be made in time */
function lastAttemptAt(endsAt: number, now: number, notBefore: number, chance: number): number {
  const last = LAST_ATTEMPTS.find(({ from, to }, index) => {
    const isInTime = notBefore <= endsAt - to || index === LAST_ATTEMPTS.length - 1;
    return now < endsAt - from && isInTime;
  });
  if (last === undefined) return endsAt;
  const from = Math.max(endsAt - last.from, notBefore);
  const to = Math.max(endsAt - last.to, from);
  return Math.min(Math.ceil(from + (to - from) * chance), endsAt);
}

/** @returns epoch ms; undefined when it is not an HTTP date or not a day of the calendar */
function parseDate(text: string, now: number): number | undefined {
  const parts = HTTP_DATES.map((form) => form.exec(text)?.groups).find(Boolean);
  if (parts === undefined) return undefined;
  const { name = "", month = "", year = "", time = "" } = parts;
  const day = (parts.day ?? "").replace(" ", "0");
  // Date has no leap second; the instant after :59 is as good.
  const isLeapSecond = time.endsWith(":60");
  const known = isLeapSecond ? time.replace(":60", ":59") : time;
  const date = `${name.slice(0, 3)}, ${day} ${month} ${fullYear(year, now)} ${known} GMT`;
  const at = Date.parse(date);
  // Date.parse repairs 31 February and a wrong day of the week; only what it writes back is a date.
  if (Number.isNaN(at) || new Date(at).toUTCString() !== date) return undefined;
  return isLeapSecond ? at + 1000 : at;
}

/** Two digits mean the latest such year that is at most 50 years ahead (RFC 9110 5.6.7). */
function fullYear(year: string, now: number): string {
  if (year.length === 4) return year;
  const latest = new Date(now).getUTCFullYear() + 50;
  return String(latest - ((latest - Number(year)) % 100));
}

/** A number in [0, 1), from four random bytes. */
export function toFraction(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0) / 2 ** 32;
}
