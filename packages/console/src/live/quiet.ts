/** Whether the quiet hours of a user apply at a time. Pure. */

import type { QuietHours } from "@countersign/review-api";

/** @param at epoch ms */
export function isQuiet(hours: QuietHours | null, at: number): boolean {
  if (hours === null) return false;
  const { from, to, time_zone: timeZone } = hours;
  const clock = new Intl.DateTimeFormat("en", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).format(at);
  return from < to ? clock >= from && clock < to : clock >= from || clock < to;
}
