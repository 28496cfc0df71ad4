/**
 * Rows of the table `call_grant`: what reviewers have approved beforehand.
 */

import type { Actor } from "../../../core/actor.ts";
import type { GrantTerms, StoredGrant } from "../../../core/grant.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { touchActiveState } from "../active-state-stamp.ts";
import type { InstanceKey, RowKey } from "../keys.ts";

const COLUMNS = `id, project_id, instance_id, reviewer_id, terms, created_at, expires_at,
  calls_max, calls, revoked_at, revoked_by`;

/** SQL: it may still answer, at the time that is the third value. */
const ACTIVE = "revoked_at is null and expires_at > $3 and calls < calls_max";

/** SQL: it has ended, in whatever way. */
const ENDED = "(revoked_at is not null or expires_at <= $3 or calls >= calls_max)";

const BEFORE = `select ${COLUMNS} from call_grant where project_id = $1 and id < $2`;
const LIST_ACTIVE = `${BEFORE} and ${ACTIVE} order by id desc limit $4`;
const LIST_ENDED = `${BEFORE} and ${ENDED} order by id desc limit $4`;

export async function insertGrant(tx: Transaction, grant: StoredGrant): Promise<void> {
  await tx.insert(
    `insert into call_grant (id, project_id, instance_id, reviewer_id, terms, created_at,
       expires_at, calls_max)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      grant.id,
      grant.projectId,
      grant.instanceId,
      grant.reviewerId,
      JSON.stringify(grant.terms),
      grant.createdAt,
      grant.expiresAt,
      grant.callsMax,
    ],
  );
  await touchActiveState(tx, grant.projectId);
}

/** Grants of an instance that may answer a call, those that end first at the front. */
export async function readActiveGrants(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
  now: number,
  limit: number,
): Promise<StoredGrant[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from call_grant
     where project_id = $1 and instance_id = $2 and ${ACTIVE}
     order by expires_at, id limit $4`,
    [projectId, instanceId, now, limit],
  );
  return rows.map(fromRow);
}

/**
 * Counts one more call, unless the grant has ended meanwhile: of any number of calls at one time
 * no more are counted than it has left.
 *
 * @returns whether it was counted
 */
export async function countCall(
  tx: Transaction,
  { projectId, id }: RowKey,
  now: number,
): Promise<boolean> {
  const counted = await tx.run(
    `update call_grant set calls = calls + 1
     where project_id = $1 and id = $2 and ${ACTIVE}`,
    [projectId, id, now],
  );
  return counted === 1;
}

/** Takes back one call that this transaction has counted. */
export async function uncountCall(tx: Transaction, { projectId, id }: RowKey): Promise<void> {
  const sql = "update call_grant set calls = calls - 1 where project_id = $1 and id = $2";
  await tx.run(sql, [projectId, id]);
}

export async function readGrant(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredGrant | undefined> {
  const sql = `select ${COLUMNS} from call_grant where project_id = $1 and id = $2`;
  return toGrant(await reader.get(sql, [projectId, id]));
}

export async function lockGrant(
  tx: Transaction,
  { projectId, id }: RowKey,
): Promise<StoredGrant | undefined> {
  const sql = `select ${COLUMNS} from call_grant where project_id = $1 and id = $2`;
  return toGrant(await tx.lock("update", sql, [projectId, id]));
}

export async function markRevoked(
  tx: Transaction,
  { projectId, id }: RowKey,
  revokedAt: number,
  revokedBy: Actor,
): Promise<void> {
  const sql = `update call_grant set revoked_at = $3, revoked_by = $4
    where project_id = $1 and id = $2`;
  await tx.run(sql, [projectId, id, revokedAt, revokedBy]);
  await touchActiveState(tx, projectId);
}

/** Grants before an id that may still answer, or that have ended: the newest first. */
export async function listGrantsBefore(
  reader: Reader,
  projectId: string,
  state: "active" | "ended",
  now: number,
  before: string,
  limit: number,
): Promise<StoredGrant[]> {
  const sql = state === "active" ? LIST_ACTIVE : LIST_ENDED;
  return (await reader.all(sql, [projectId, before, now, limit])).map(fromRow);
}

/** Those of one instance that may still answer, before an id: the newest first. */
export async function listActiveOfInstance(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
  now: number,
  before: string,
  limit: number,
): Promise<StoredGrant[]> {
  const rows = await reader.all(
    `${BEFORE} and ${ACTIVE} and instance_id = $5 order by id desc limit $4`,
    [projectId, before, now, limit, instanceId],
  );
  return rows.map(fromRow);
}

/**
 * Purges grants that would have expired long ago, however they ended.
 *
 * @param before an id of that time: a grant expires later than it is made
 * @returns how many of this project were purged, at most `limit`
 */
export async function deleteGrantsExpiredBefore(
  tx: Transaction,
  projectId: string,
  expiredBefore: number,
  before: string,
  limit: number,
): Promise<number> {
  const rows = await tx.all(
    `select id from call_grant where project_id = $1 and id < $2 and expires_at <= $3
     order by id limit $4`,
    [projectId, before, expiredBefore, limit],
  );
  for (const { id = null } of rows) {
    await tx.run("delete from call_grant where project_id = $1 and id = $2", [projectId, id]);
  }
  return rows.length;
}

function toGrant(row: Row | undefined): StoredGrant | undefined {
  return row === undefined ? undefined : fromRow(row);
}

function fromRow(row: Row): StoredGrant {
  return {
    id: row.id as string,
    projectId: row.project_id as string,
    instanceId: row.instance_id as string,
    reviewerId: row.reviewer_id as string,
    terms: JSON.parse(row.terms as string) as GrantTerms,
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    callsMax: Number(row.calls_max),
    calls: Number(row.calls),
    revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
    revokedBy: row.revoked_by as Actor | null,
  };
}
