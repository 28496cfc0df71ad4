/** Quiet hours of a user, in the user's time zone. */

export interface QuietHours {
  /** Minutes after midnight. */
  readonly from: number;
  /** Minutes after midnight; a value before `from` is on the next day. Never equal to `from`. */
  readonly to: number;
  /** Name from the IANA database. */
  readonly timeZone: string;
}

const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;

/**
 * End of the quiet hours, epoch ms; `now` when it is not quiet. On days with a clock change, the
 * result can be wrong by that change. The caller checks it again then.
 */
export function quietHoursEndAt(hours: QuietHours | null, now: number): number {
  if (hours === null) return now;
  const { from, to, timeZone } = hours;
  const minute = minuteOfDay(now, timeZone);
  const sinceFrom = (minute - from + DAY_MINUTES) % DAY_MINUTES;
  const length = (to - from + DAY_MINUTES) % DAY_MINUTES;
  if (sinceFrom >= length) return now;
  return now - (now % MINUTE_MS) + (length - sinceFrom) * MINUTE_MS;
}

export function isTimeZone(name: string): boolean {
  try {
    return name !== "" && Boolean(new Intl.DateTimeFormat("en", { timeZone: name }));
  } catch {
    return false;
  }
}

function minuteOfDay(now: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(now);
  const numberOf = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  return numberOf("hour") * 60 + numberOf("minute");
}

export function writeWallClock(minutes: number): string {
  const two = (part: number) => String(part).padStart(2, "0");
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
