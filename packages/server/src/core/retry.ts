/**
 * Retries of unacknowledged notifications: exponential backoff with jitter, not before the
 * receiver's `Retry-After`, and at most 168 hours after the decision.
 *
 * Guarantees promise I5 (retries until 2xx, removal, deletion or 168 h).
 *
 * @see contract: Events, Delivery rules, 3 and 4
 */

/** From `decision.decided_at`, independent of changes of the receiver. */
export const RETRY_WINDOW_MS = 168 * 3_600_000;

export const STEP_MS_MIN = 5_000;
export const STEP_MS_MAX = 3_600_000;

/**
 * Random delay after `Retry-After`, as a fraction of it, so that senders with the same value spread
 * out.
 */
const LATER_MAX = 0.1;

/** Maximum duration of an attempt (contract: Limits, Notification attempt timeout). */
const ATTEMPT_MS_MAX = 10_000;

/**
 * Last attempts, as ms before the end of the window, however long the backoff is. One starts in the
 * last five minutes. One starts in the last minute, for a receiver that recovers later. A failure
 * after `from` belongs to that attempt itself. The longest pause of a breaker fits between the two.
 */
const LAST_ATTEMPTS = [
  { from: 5 * 60_000 - ATTEMPT_MS_MAX, to: 120_000 },
  { from: 60_000 - ATTEMPT_MS_MAX, to: 30_000 },
] as const;

const DELAY_SECONDS = /^\d+$/;

/** Longer than any window. More digits still mean a wait. */
const DELAY_S_MAX = 999_999_999;

const NAME = "(?<name>Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const LONG_NAME = "(?<name>Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day";
const MONTH = "(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const TIME = "(?<time>(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d|23:59:60)";

/** The three HTTP date formats that a recipient must accept (RFC 9110 5.6.7). */
const HTTP_DATES = [
  `${NAME}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT`,
  `${LONG_NAME}, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT`,
  `${NAME} ${MONTH} (?<day>\\d{2}| \\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * Parses `Retry-After`: seconds, or an HTTP date in any of the three formats.
 *
 * @param now epoch ms of the answer
 * @returns ms from now, positive; undefined when absent, malformed, zero or in the past
 * @see RFC 9110 10.2.3
 */
export function parseRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const waitMs = DELAY_SECONDS.test(text)
    ? Math.min(Number(text), DELAY_S_MAX) * 1000
    : (parseDate(text, now) ?? now) - now;
  return waitMs > 0 ? waitMs : undefined;
}

/** An unacknowledged attempt. Times are epoch milliseconds. */
export interface Failed {
  /** Completed attempts at the current receiver, including this one: >= 1. */
  readonly attempts: number;
  readonly decidedAt: number;
  readonly now: number;
  /** From `parseRetryAfter`; for status 429 and 503. */
  readonly retryAfterMs: number | undefined;
  /** Uniform in [0, 1). */
  readonly chance: number;
}

/**
 * The step doubles from 5 s to 1 h; half of it is random. A longer `Retry-After` replaces it, plus
 * up to a tenth. An attempt beyond the end of the window moves into its last five minutes, and then
 * into its last minute, unless `Retry-After` is later. So a receiver that recovers in time is still
 * notified.
 *
 * @returns epoch ms of the next attempt, at most `decidedAt + RETRY_WINDOW_MS`; at that time
 * delivery ends without another attempt
 */
export function nextAttemptAt({ attempts, decidedAt, now, retryAfterMs, chance }: Failed): number {
  const endsAt = decidedAt + RETRY_WINDOW_MS;
  // Many attempts make an infinite power. The minimum is still correct.
  const stepMs = Math.min(STEP_MS_MIN * 2 ** (attempts - 1), STEP_MS_MAX);
  const backoffMs = stepMs / 2 + (stepMs / 2) * chance;
  const waitMs = Math.max(backoffMs, retryAfterMs ?? 0);
  const laterMs = retryAfterMs === undefined ? 0 : waitMs * LATER_MAX * chance;
  const at = now + Math.ceil(waitMs + laterMs);
  return at < endsAt ? at : lastAttemptAt(endsAt, now, now + (retryAfterMs ?? 0), chance);
}

/** @returns `endsAt` when no further attempt can start in time */
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

/** @returns undefined for text that is not an HTTP date, or not a calendar day */
function parseDate(text: string, now: number): number | undefined {
  const parts = HTTP_DATES.map((form) => form.exec(text)?.groups).find(Boolean);
  if (parts === undefined) return undefined;
  const { name = "", month = "", year = "", time = "" } = parts;
  const day = (parts.day ?? "").replace(" ", "0");
  // Date has no leap second. The instant after :59 is used.
  const isLeapSecond = time.endsWith(":60");
  const known = isLeapSecond ? time.replace(":60", ":59") : time;
  const date = `${name.slice(0, 3)}, ${day} ${month} ${fullYear(year, now)} ${known} GMT`;
  const at = Date.parse(date);
  // Date.parse accepts 31 February and a wrong weekday. Only text that it reproduces is valid.
  if (Number.isNaN(at) || new Date(at).toUTCString() !== date) return undefined;
  return isLeapSecond ? at + 1000 : at;
}

/** Two digits mean the latest matching year at most 50 years ahead (RFC 9110 5.6.7). */
function fullYear(year: string, now: number): string {
  if (year.length === 4) return year;
  const latest = new Date(now).getUTCFullYear() + 50;
  return String(latest - ((latest - Number(year)) % 100));
}

/** A number in [0, 1), from four random bytes. */
export function toFraction(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0) / 2 ** 32;
}
