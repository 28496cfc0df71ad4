/** Rows of the table `oncall_schedule`. */

import type { Shift, SourceKind } from "../../../core/oncall.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

export interface StoredSchedule extends RowKey {
  readonly name: string;
  readonly kind: SourceKind;
  readonly encryptedSource: string;
  /** Names of reviewers by the ids of the source. */
  readonly people: Readonly<Record<string, string>>;
  /** Epoch ms; null: nothing is fetched. */
  readonly nextAt: number | null;
  readonly fetchedAt: number | null;
  readonly shifts: readonly Shift[];
  /** Of the last fetch; null: it succeeded. */
  readonly failure: string | null;
  readonly createdAt: number;
}

const COLUMNS = `project_id, id, name, kind, encrypted_source, people, next_at, fetched_at, shifts,
  failure, created_at`;

/** Replaces the schedule with the same id. */
export async function writeSchedule(tx: Transaction, schedule: StoredSchedule): Promise<void> {
  await tx.run(
    `insert into oncall_schedule (${COLUMNS})
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (project_id, id) do update set kind = excluded.kind,
       encrypted_source = excluded.encrypted_source, people = excluded.people,
       next_at = excluded.next_at, fetched_at = excluded.fetched_at, shifts = excluded.shifts,
       failure = excluded.failure`,
    [
      schedule.projectId,
      schedule.id,
      schedule.name,
      schedule.kind,
      schedule.encryptedSource,
      JSON.stringify(schedule.people),
      schedule.nextAt,
      schedule.fetchedAt,
      JSON.stringify(schedule.shifts),
      schedule.failure,
      schedule.createdAt,
    ],
  );
}

export async function deleteSchedule(tx: Transaction, { projectId, id }: RowKey): Promise<void> {
  await tx.run("delete from oncall_schedule where project_id = $1 and id = $2", [projectId, id]);
}

export async function findSchedule(
  reader: Reader,
  projectId: string,
  name: string,
): Promise<StoredSchedule | undefined> {
  const sql = `select ${COLUMNS} from oncall_schedule where project_id = $1 and name = $2`;
  const row = await reader.get(sql, [projectId, name]);
  return row === undefined ? undefined : fromRow(row);
}

export async function readSchedule(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredSchedule | undefined> {
  const sql = `select ${COLUMNS} from oncall_schedule where project_id = $1 and id = $2`;
  const row = await reader.get(sql, [projectId, id]);
  return row === undefined ? undefined : fromRow(row);
}

/** All of a project, by name. */
export async function listSchedulesOf(
  reader: Reader,
  projectId: string,
): Promise<StoredSchedule[]> {
  const sql = `select ${COLUMNS} from oncall_schedule where project_id = $1 order by name`;
  return (await reader.all(sql, [projectId])).map(fromRow);
}

/** Schedules of all projects that are due for a fetch. */
export async function readDueSchedules(
  reader: Reader,
  now: number,
  limit: number,
): Promise<StoredSchedule[]> {
  const sql = `select ${COLUMNS} from oncall_schedule where next_at <= $1 limit $2`;
  return (await reader.all(sql, [now, limit])).map(fromRow);
}

/**
 * Claims a fetch.
 *
 * @returns false when another process claimed it, or the schedule changed
 */
export async function claimFetch(
  tx: Transaction,
  { projectId, id, nextAt }: StoredSchedule,
  nextFetchAt: number,
): Promise<boolean> {
  const claimed = await tx.run(
    `update oncall_schedule set next_at = $4
     where project_id = $1 and id = $2 and next_at = $3`,
    [projectId, id, nextAt, nextFetchAt],
  );
  return claimed === 1;
}

/** Does nothing when the source changed during the fetch. */
export async function writeFetched(
  tx: Transaction,
  { projectId, id, encryptedSource }: StoredSchedule,
  shifts: readonly Shift[],
  fetchedAt: number,
): Promise<void> {
  await tx.run(
    `update oncall_schedule set shifts = $4, fetched_at = $5, failure = null
     where project_id = $1 and id = $2 and encrypted_source = $3`,
    [projectId, id, encryptedSource, JSON.stringify(shifts), fetchedAt],
  );
}

/** The earlier shifts stay. */
export async function writeFetchFailure(
  tx: Transaction,
  { projectId, id, encryptedSource }: StoredSchedule,
  failure: string,
): Promise<void> {
  await tx.run(
    `update oncall_schedule set failure = $4
     where project_id = $1 and id = $2 and encrypted_source = $3`,
    [projectId, id, encryptedSource, failure],
  );
}

function fromRow(row: Row): StoredSchedule {
  return {
    projectId: String(row.project_id),
    id: String(row.id),
    name: String(row.name),
    kind: row.kind as SourceKind,
    encryptedSource: String(row.encrypted_source),
    people: JSON.parse(String(row.people)) as Readonly<Record<string, string>>,
    nextAt: row.next_at === null ? null : Number(row.next_at),
    fetchedAt: row.fetched_at === null ? null : Number(row.fetched_at),
    shifts: JSON.parse(String(row.shifts)) as readonly Shift[],
    failure: row.failure === null ? null : String(row.failure),
    createdAt: Number(row.created_at),
  };
}
