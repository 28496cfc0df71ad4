import { allows } from "../../core/roles.ts";
import { listAbsencesOf, type NamedAbsence } from "../../storage/sql/people/absences.ts";
import type { Reader } from "../../storage/store.ts";

/**
 * The present and future absences of a project, by reviewer name. A substitute who may not decide
 * any more is left out.
 */
export async function readAbsences(
  reader: Reader,
  projectId: string,
  now: number,
): Promise<readonly NamedAbsence[]> {
  const absences = await listAbsencesOf(reader, projectId, now);
  return absences.map((absence) => {
    const role = absence.substituteRole;
    if (role !== null && allows(role, "decide")) return absence;
    return { ...absence, substituteId: null, substitute: null, isSubstituteAbsent: false };
  });
}
