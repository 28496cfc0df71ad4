/** Absences of reviewers: whom the server notifies. They change no authority. */

export interface Absence {
  readonly reviewerId: string;
  /** Epoch ms. */
  readonly from: number;
  readonly until: number;
  /** A reviewer who may decide; null: none. */
  readonly substituteId: string | null;
}

export const ABSENCE_DAYS_MAX = 90;

const DAY_MS = 86_400_000;

/** The fault of a period, by field; undefined when it is valid. */
export function periodFault(
  { from, until }: Pick<Absence, "from" | "until">,
  now: number,
): { readonly field: "until"; readonly rule: string } | undefined {
  if (until <= from) return { field: "until", rule: "must be after from" };
  if (until <= now) return { field: "until", rule: "must be in the future" };
  if (until - from <= ABSENCE_DAYS_MAX * DAY_MS) return undefined;
  return { field: "until", rule: `must be at most ${ABSENCE_DAYS_MAX} days after from` };
}

export function isAbsent({ from, until }: Pick<Absence, "from" | "until">, now: number): boolean {
  return from <= now && now < until;
}

/** The absences at this time, by reviewer. */
export function absencesAt<One extends Absence>(
  absences: readonly One[],
  now: number,
): ReadonlyMap<string, One> {
  const current = absences.filter((absence) => isAbsent(absence, now));
  return new Map(current.map((absence) => [absence.reviewerId, absence]));
}

/**
 * The absence that delays the push message of a reviewer; undefined: the server sends it now. It
 * also sends it to an absent reviewer in two cases. The substitute is not notified, for example
 * because of an absence. Or the reviewer is the substitute of another absent reviewer, because
 * messages are not forwarded twice.
 *
 * @param current from {@link absencesAt}
 * @param notified other reviewers who get a message and are not absent
 */
export function delayingAbsence(
  reviewerId: string,
  current: ReadonlyMap<string, Absence>,
  notified: ReadonlySet<string>,
): Absence | undefined {
  const own = current.get(reviewerId);
  if (own === undefined) return undefined;
  const { substituteId } = own;
  if (substituteId !== null && !notified.has(substituteId)) return undefined;
  const isSubstitute = [...current.values()].some((one) => one.substituteId === reviewerId);
  return isSubstitute ? undefined : own;
}
