/** Descriptions of absences. Callers must still mark invisible characters of names. */

import type { ShownAbsence } from "@countersign/review-api";

const WEEK_MS = 7 * 86_400_000;

/** "until Mon 08:00" or "until 9 Mar, 08:00", in the time zone of the reader. */
function describeTime(at: number, now: number): string {
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  const day =
    at - now < WEEK_MS
      ? ({ weekday: "short" } as const)
      : ({ day: "numeric", month: "short" } as const);
  return new Intl.DateTimeFormat(undefined, { ...day, ...time }).format(at);
}

/** "away until Mon 08:00; Ben substitutes" */
export function describeAbsence(
  { from, until, absent, substitute }: ShownAbsence,
  now: number,
): string {
  const start = absent ? "" : `from ${describeTime(Date.parse(from), now)} `;
  const period = `away ${start}until ${describeTime(Date.parse(until), now)}`;
  if (substitute === undefined) return period;
  if (substitute.absent) return `${period}; ${substitute.name} is away too, so both are notified`;
  return `${period}; ${substitute.name} substitutes`;
}
