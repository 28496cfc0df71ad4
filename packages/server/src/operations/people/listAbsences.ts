import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readAbsences } from "../../steps/access/readAbsences.ts";
import type { NamedAbsence } from "../../storage/sql/people/absences.ts";

export type { NamedAbsence };

/** The present and future absences of the caller's project, by reviewer name. */
export async function listAbsences(
  { store, clock }: Pick<Context, "store" | "clock">,
  { projectId }: ReviewerCaller,
): Promise<readonly NamedAbsence[]> {
  return readAbsences(store, projectId, clock.now());
}
