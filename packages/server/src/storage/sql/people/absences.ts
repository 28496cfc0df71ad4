/** Rows of the table `absence`: at most one absence of each reviewer, present, future or past. */

import type { Absence } from "../../../core/absence.ts";
import type { ReviewerRole } from "../../../core/roles.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

/** With the names of its reviewers. */
export interface NamedAbsence extends Absence {
  readonly reviewer: string;
  /** Null: none, or a removed or disabled one. */
  readonly substitute: string | null;
  readonly substituteRole: ReviewerRole | null;
  /** Then the substitute gets nothing in place of the reviewer. */
  readonly isSubstituteAbsent: boolean;
}

const SELECT = `select absence.reviewer_id, absence.from_at, absence.until_at,
    reviewer.name as reviewer_name, substitute.id as substitute_id,
    substitute.name as substitute_name, substitute.role as substitute_role,
    (select count(*) from absence other where other.project_id = absence.project_id
       and other.reviewer_id = substitute.id and other.from_at <= $2 and other.until_at > $2
    ) as absences_of_substitute
  from absence
    join reviewer on reviewer.project_id = absence.project_id
      and reviewer.id = absence.reviewer_id and reviewer.removed_at is null
    left join reviewer substitute on substitute.project_id = absence.project_id
      and substitute.id = absence.substitute_id and substitute.removed_at is null
      and not exists (select 1 from person
        where person.id = substitute.person_id and person.disabled_at is not null)
  where absence.project_id = $1 and absence.until_at > $2`;

/** Replaces the absence of the reviewer. */
export async function writeAbsence(
  tx: Transaction,
  projectId: string,
  { reviewerId, from, until, substituteId }: Absence,
): Promise<void> {
  await tx.run(
    `insert into absence (project_id, reviewer_id, from_at, until_at, substitute_id)
     values ($1, $2, $3, $4, $5)
     on conflict (project_id, reviewer_id) do update set from_at = excluded.from_at,
       until_at = excluded.until_at, substitute_id = excluded.substitute_id`,
    [projectId, reviewerId, from, until, substituteId],
  );
}

export async function deleteAbsence(tx: Transaction, { projectId, id }: RowKey): Promise<void> {
  await tx.run("delete from absence where project_id = $1 and reviewer_id = $2", [projectId, id]);
}

/** The present or future absence of a reviewer. */
export async function readAbsence(
  reader: Reader,
  { projectId, id }: RowKey,
  now: number,
): Promise<NamedAbsence | undefined> {
  const row = await reader.get(`${SELECT} and absence.reviewer_id = $3`, [projectId, now, id]);
  return row === undefined ? undefined : fromRow(row);
}

/** The present and future absences of a project, by reviewer name. */
export async function listAbsencesOf(
  reader: Reader,
  projectId: string,
  now: number,
): Promise<NamedAbsence[]> {
  return (await reader.all(`${SELECT} order by reviewer.name`, [projectId, now])).map(fromRow);
}

function fromRow(row: Row): NamedAbsence {
  const textOf = (value: Row[string] | undefined) => (value === null ? null : String(value));
  return {
    reviewerId: String(row.reviewer_id),
    reviewer: String(row.reviewer_name),
    from: Number(row.from_at),
    until: Number(row.until_at),
    substituteId: textOf(row.substitute_id),
    substitute: textOf(row.substitute_name),
    substituteRole: row.substitute_role as ReviewerRole | null,
    isSubstituteAbsent: Number(row.absences_of_substitute) > 0,
  };
}
