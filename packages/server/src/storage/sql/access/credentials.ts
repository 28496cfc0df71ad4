/**
 * Rows of the table `credential`, and of the tables of its holders.
 */

import type { CredentialKind } from "@countersign/protocol";
import type { Scopes } from "../../../core/scopes.ts";
import type { LockMode, Reader, Row, Transaction } from "../../store.ts";

export interface StoredCredential {
  readonly id: string;
  readonly kind: CredentialKind;
  readonly holderId: string;
  readonly projectId: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Of a reviewer's token: what it may do of all that its holder may; null: all of it. */
  readonly scopes: Scopes;
}

const COLUMNS = "id, kind, holder_id, project_id, created_at, expires_at, revoked_at, scopes";

export async function insertCredential(
  tx: Transaction,
  credential: StoredCredential,
  tokenHash: string,
): Promise<void> {
  await tx.insert(
    `insert into credential
       (id, token_hash, kind, holder_id, project_id, created_at, expires_at, scopes)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      credential.id,
      tokenHash,
      credential.kind,
      credential.holderId,
      credential.projectId,
      credential.createdAt,
      credential.expiresAt,
      credential.scopes === null ? null : JSON.stringify(credential.scopes),
    ],
  );
}

export async function readCredentialByHash(
  reader: Reader,
  tokenHash: string,
): Promise<StoredCredential | undefined> {
  const sql = `select ${COLUMNS} from credential where token_hash = $1`;
  const row = await reader.get(sql, [tokenHash]);
  return row === undefined ? undefined : fromRow(row);
}

export interface OperatorCredential extends StoredCredential {
  /** Of the holder. */
  readonly name: string;
  readonly project: string;
  /** Of a reviewer. */
  readonly role: string | null;
  readonly isBot: boolean;
}

/** Everything an operator may want to see of the tokens that are not instances' own. */
export async function listOperatorCredentials(reader: Reader): Promise<OperatorCredential[]> {
  const rows = await reader.all(
    `select credential.id, credential.kind, credential.holder_id, credential.project_id,
       credential.created_at, credential.expires_at, credential.revoked_at, credential.scopes,
       coalesce(provisioner.name, reviewer.name) as name, reviewer.role as role,
       reviewer.kind as holder_kind,
       project.name as project
     from credential
       join project on project.id = credential.project_id
       left join provisioner on provisioner.project_id = credential.project_id
         and provisioner.id = credential.holder_id
       left join reviewer on reviewer.project_id = credential.project_id
         and reviewer.id = credential.holder_id
     where credential.kind <> 'instance'
     order by credential.created_at, credential.id`,
  );
  return rows.map((row) => ({
    ...fromRow(row),
    name: row.name as string,
    project: row.project as string,
    role: row.role as string | null,
    isBot: row.holder_kind === "bot",
  }));
}

/** @returns how many were live until now */
export async function revokeCredentialsOf(
  tx: Transaction,
  holderId: string,
  revokedAt: number,
): Promise<number> {
  const sql = "update credential set revoked_at = $2 where holder_id = $1 and revoked_at is null";
  return tx.run(sql, [holderId, revokedAt]);
}

/** Limits the validity of all credentials of a holder. None becomes valid for longer. */
export async function expireCredentialsOf(
  tx: Transaction,
  holderId: string,
  expiresAt: number,
): Promise<void> {
  await tx.run(
    `update credential set expires_at = $2 where holder_id = $1 and revoked_at is null
       and (expires_at is null or expires_at > $2)`,
    [holderId, expiresAt],
  );
}

/** @returns the scopes of every token of these holders that is neither revoked nor expired */
export async function readLiveScopes(
  reader: Reader,
  holderIds: readonly string[],
  now: number,
): Promise<Pick<StoredCredential, "holderId" | "scopes">[]> {
  if (holderIds.length === 0) return [];
  const params = holderIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select holder_id, scopes from credential where holder_id in (${params})
       and revoked_at is null and (expires_at is null or expires_at > $1)`,
    [now, ...holderIds],
  );
  return rows.map((row) => ({ holderId: String(row.holder_id), scopes: parseScopes(row.scopes) }));
}

/** Every token of these holders that is neither revoked nor expired, the oldest first. */
export async function readLiveCredentials(
  reader: Reader,
  holderIds: readonly string[],
  now: number,
): Promise<StoredCredential[]> {
  if (holderIds.length === 0) return [];
  const params = holderIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.all(
    `select ${COLUMNS} from credential where holder_id in (${params})
       and revoked_at is null and (expires_at is null or expires_at > $1)
     order by created_at, id`,
    [now, ...holderIds],
  );
  return rows.map(fromRow);
}

/**
 * @param mode `share` to rely on its permissions: the verdicts of one token do not wait for
 *   each other, and its revocation waits for all of them
 */
export async function lockCredential(
  tx: Transaction,
  mode: LockMode,
  id: string,
): Promise<StoredCredential | undefined> {
  const { token_hash: tokenHash } =
    (await tx.get("select token_hash from credential where id = $1", [id])) ?? {};
  return tokenHash === undefined ? undefined : lockCredentialByHash(tx, mode, String(tokenHash));
}

/** As {@link lockCredential}, by its key: a row is locked on one shard. */
export async function lockCredentialByHash(
  tx: Transaction,
  mode: LockMode,
  tokenHash: string,
): Promise<StoredCredential | undefined> {
  const sql = `select ${COLUMNS} from credential where token_hash = $1`;
  const row = await tx.lock(mode, sql, [tokenHash]);
  return row === undefined ? undefined : fromRow(row);
}

export async function revokeCredential(
  tx: Transaction,
  id: string,
  revokedAt: number,
): Promise<void> {
  await tx.run("update credential set revoked_at = $2 where id = $1", [id, revokedAt]);
}

/**
 * Purges credentials of instances that have expired. The response to an unknown credential is the
 * same.
 *
 * @returns how many were purged, at most `limit`
 */
export async function deleteExpiredInstanceCredentials(
  tx: Transaction,
  expiredBefore: number,
  limit: number,
): Promise<number> {
  const rows = await tx.all(
    `select token_hash from credential where kind = 'instance' and expires_at <= $1
     order by expires_at limit $2`,
    [expiredBefore, limit],
  );
  for (const { token_hash: tokenHash = null } of rows) {
    await tx.run("delete from credential where token_hash = $1", [tokenHash]);
  }
  return rows.length;
}

function fromRow(row: Row): StoredCredential {
  return {
    id: row.id as string,
    kind: row.kind as CredentialKind,
    holderId: row.holder_id as string,
    projectId: row.project_id as string,
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
    scopes: parseScopes(row.scopes),
  };
}

function parseScopes(value: Row[string] | undefined): Scopes {
  return value === null ? null : (JSON.parse(value as string) as string[]);
}
