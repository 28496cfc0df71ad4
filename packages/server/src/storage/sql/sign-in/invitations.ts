/**
 * Rows of the table `invitation`: single-use links to become a reviewer, including the setup link,
 * and links for a user who can no longer sign in.
 */

import type { Actor } from "../../../core/actor.ts";
import type { ReviewerRole } from "../../../core/roles.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { parseNames, writeNames } from "../names.ts";

export interface StoredInvitation {
  readonly id: string;
  /** Empty for one with which a person comes back: that is of the whole server. */
  readonly projectId: string;
  /** The user who returns; null for a new one. */
  readonly personId: string | null;
  /** Of the reviewer to be; empty where who uses the link chooses it. */
  readonly name: string;
  readonly role: ReviewerRole;
  readonly groups: readonly string[];
  readonly createdAt: number;
  readonly createdBy: Actor;
  readonly expiresAt: number;
  readonly usedAt: number | null;
}

const COLUMNS = `id, project_id, person_id, name, role, group_names, created_at, created_by,
  expires_at, used_at`;

export async function insertInvitation(
  tx: Transaction,
  invitation: StoredInvitation,
  tokenHash: string,
): Promise<void> {
  await tx.insert(
    `insert into invitation (token_hash, id, project_id, person_id, name, role, group_names,
       created_at, created_by, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      tokenHash,
      invitation.id,
      invitation.projectId,
      invitation.personId,
      invitation.name,
      invitation.role,
      writeNames(invitation.groups),
      invitation.createdAt,
      invitation.createdBy,
      invitation.expiresAt,
    ],
  );
}

export async function readInvitationByHash(
  reader: Reader,
  tokenHash: string,
): Promise<StoredInvitation | undefined> {
  const sql = `select ${COLUMNS} from invitation where token_hash = $1`;
  return toInvitation(await reader.get(sql, [tokenHash]));
}

/** Concurrent uses of one link wait for this lock. */
export async function lockInvitationByHash(
  tx: Transaction,
  tokenHash: string,
): Promise<StoredInvitation | undefined> {
  const sql = `select ${COLUMNS} from invitation where token_hash = $1`;
  return toInvitation(await tx.lock("update", sql, [tokenHash]));
}

export async function markInvitationUsed(
  tx: Transaction,
  tokenHash: string,
  usedAt: number,
): Promise<void> {
  await tx.run("update invitation set used_at = $2 where token_hash = $1", [tokenHash, usedAt]);
}

/** Those of a project, the newest first. */
export async function listInvitationsOf(
  reader: Reader,
  projectId: string,
  limit: number,
): Promise<StoredInvitation[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from invitation where project_id = $1
     order by created_at desc, id desc limit $2`,
    [projectId, limit],
  );
  return rows.flatMap((row) => toInvitation(row) ?? []);
}

/** @returns the number of open invitations of the project */
export async function countOpenInvitations(
  reader: Reader,
  projectId: string,
  now: number,
): Promise<number> {
  const row = await reader.get(
    `select count(*) as open from invitation
     where project_id = $1 and used_at is null and expires_at > $2`,
    [projectId, now],
  );
  return Number(row?.open);
}

/** @returns the invitation that is gone; undefined when none of this id was open */
export async function deleteOpenInvitation(
  tx: Transaction,
  projectId: string,
  id: string,
): Promise<StoredInvitation | undefined> {
  const [row] = await tx.runReturning(
    `delete from invitation where project_id = $1 and id = $2 and used_at is null
     returning ${COLUMNS}`,
    [projectId, id],
  );
  return toInvitation(row);
}

/** Deletes the unused invitations of one author. @returns the deleted ones */
export async function deleteOpenInvitationsBy(
  tx: Transaction,
  createdBy: Actor,
): Promise<StoredInvitation[]> {
  const rows = await tx.runReturning(
    `delete from invitation where created_by = $1 and used_at is null returning ${COLUMNS}`,
    [createdBy],
  );
  return rows.flatMap((row) => toInvitation(row) ?? []);
}

/** @returns those with which a person might come back, which are gone */
export async function deleteOpenInvitationsFor(
  tx: Transaction,
  personId: string,
): Promise<StoredInvitation[]> {
  const rows = await tx.runReturning(
    `delete from invitation where person_id = $1 and used_at is null returning ${COLUMNS}`,
    [personId],
  );
  return rows.flatMap((row) => toInvitation(row) ?? []);
}

/**
 * Purges expired invitations, used or not.
 *
 * @returns the number of deleted rows, at most `limit`
 */
export async function deleteInvitationsBefore(
  tx: Transaction,
  expiredBefore: number,
  limit: number,
): Promise<number> {
  return tx.run(
    `delete from invitation where token_hash in
       (select token_hash from invitation where expires_at <= $1 order by expires_at limit $2)`,
    [expiredBefore, limit],
  );
}

function toInvitation(row: Row | undefined): StoredInvitation | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id as string,
    projectId: row.project_id as string,
    personId: row.person_id as string | null,
    name: row.name as string,
    role: row.role as ReviewerRole,
    groups: parseNames(row.group_names),
    createdAt: Number(row.created_at),
    createdBy: row.created_by as Actor,
    expiresAt: Number(row.expires_at),
    usedAt: row.used_at === null ? null : Number(row.used_at),
  };
}
