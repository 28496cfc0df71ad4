/**
 * The pace of announcements. A few requests are announced one by one, and many in one digest. After
 * a digest, the channel pauses for a minute, unless an announcement would be late.
 */

import type { Pace } from "./channel.ts";

/** Maximum single messages per minute. */
export const MESSAGES_PER_MINUTE_MAX = 10;

const MINUTE_MS = 60_000;

/** Minimum time between two messages after that. */
const GAP_MS = 5_000;

/** An announcement is late after this fraction of the time until the deadline. */
const NOTIFY_WITHIN = 1 / 4;

/** A request with a due announcement. Times are epoch ms. */
export interface DueRequest {
  /** When the announcement became due. */
  readonly since: number;
  readonly deadlineAt: number;
}

export type NextSending =
  /** The request with the earliest deadline. */
  | { readonly kind: "one" }
  /** One message about all requests. */
  | { readonly kind: "digest" }
  | { readonly kind: "wait"; readonly until: number };

/**
 * @param failures of the channel since its last success; after one, the backlog is one digest
 * @param due at least one
 * @param digestMs time between two digests; null: the channel sends single messages
 */
export function nextSending(
  pace: Pace,
  failures: number,
  due: readonly DueRequest[],
  now: number,
  digestMs: number | null = null,
): NextSending {
  if (digestMs !== null) {
    const until = digestAt(pace, due, digestMs);
    return now < until ? { kind: "wait", until } : { kind: "digest" };
  }
  const isFull = isInMinute(pace, now) && pace.messages >= MESSAGES_PER_MINUTE_MAX;
  if (isFull) {
    const until = opensAt(pace, due);
    if (now < until) return { kind: "wait", until };
  }
  if (due.length === 1) return { kind: "one" };
  const isFlood = isFull || failures > 0 || due.length > MESSAGES_PER_MINUTE_MAX;
  return { kind: isFlood ? "digest" : "one" };
}

/** The pace after a message. After a digest, its minute has no further single messages. */
export function paceAfter(pace: Pace, kind: "one" | "digest", now: number): Pace {
  if (kind === "digest") {
    return { minuteAt: now, messages: MESSAGES_PER_MINUTE_MAX, sentAt: now };
  }
  if (!isInMinute(pace, now)) return { minuteAt: now, messages: 1, sentAt: now };
  return { ...pace, messages: pace.messages + 1, sentAt: now };
}

/** After the clock was set back, a new minute starts. */
function isInMinute({ minuteAt }: Pace, now: number): boolean {
  return minuteAt !== null && now >= minuteAt && now < minuteAt + MINUTE_MS;
}

/** After the interval, or earlier when an announcement would be late. */
function digestAt({ sentAt }: Pace, due: readonly DueRequest[], digestMs: number): number {
  const first = Math.min(...due.map(({ since }) => since));
  return Math.ceil(Math.min(Math.max(first, (sentAt ?? first) + digestMs), ...latest(due)));
}

/** The times at which announcements are late. */
function latest(due: readonly DueRequest[]): number[] {
  return due.map(({ since, deadlineAt }) => since + (deadlineAt - since) * NOTIFY_WITHIN);
}

function opensAt({ minuteAt, sentAt }: Pace, due: readonly DueRequest[]): number {
  const earliest = Math.min((minuteAt ?? 0) + MINUTE_MS, ...latest(due));
  return Math.ceil(Math.max((sentAt ?? 0) + GAP_MS, earliest));
}
