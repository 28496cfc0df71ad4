/** Descriptions of absences. Callers must still mark invisible characters of names. */

import type { ShownAbsence } from "@countersign/review-api";
import { t } from "../language/t.ts";
import { futureTime } from "../parts/time-words.ts";

/** "away until Mon 08:00; Ben substitutes" */
export function describeAbsence(
  { from, until, absent, substitute }: ShownAbsence,
  now: number,
): string {
  const start = futureTime(Date.parse(from), now);
  const end = futureTime(Date.parse(until), now);
  const period = absent ? t`away until ${end}` : t`away from ${start} until ${end}`;
  if (substitute === undefined) return period;
  const { name } = substitute;
  if (substitute.absent) return t`${period}; ${name} is away too, so both are notified`;
  return t`${period}; ${name} substitutes`;
}
