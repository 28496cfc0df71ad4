/**
 * Rows of the table `session`: browsers with a signed-in user.
 */

import type { Reader, Row, Transaction } from "../../store.ts";

/** How the user signed in. */
export type SignInMethod = "password" | "passkey" | "oidc";

export interface StoredSession {
  readonly id: string;
  readonly personId: string;
  /** The selected project; empty for a user without one. */
  readonly projectId: string;
  readonly method: SignInMethod;
  /** As the browser calls itself: a claim. */
  readonly userAgent: string;
  readonly createdAt: number;
  /** When it was last used, to the minute. */
  readonly seenAt: number;
  readonly expiresAt: number;
  /** Digest of the session at the identity provider; null when unknown. */
  readonly providerSessionHash: string | null;
  /** When the provider issued the ID token, by its clock; null when unknown. */
  readonly providerIssuedAt: number | null;
}

const COLUMNS = `id, person_id, project_id, method, user_agent, created_at, seen_at, expires_at,
  provider_session_hash, provider_issued_at`;

export async function insertSession(
  tx: Transaction,
  session: StoredSession,
  tokenHash: string,
): Promise<void> {
  await tx.insert(
    `insert into session (token_hash, id, person_id, project_id, method, user_agent, created_at,
       seen_at, expires_at, provider_session_hash, provider_issued_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      tokenHash,
      session.id,
      session.personId,
      session.projectId,
      session.method,
      session.userAgent,
      session.createdAt,
      session.seenAt,
      session.expiresAt,
      session.providerSessionHash,
      session.providerIssuedAt,
    ],
  );
}

export async function readSessionByHash(
  reader: Reader,
  tokenHash: string,
): Promise<StoredSession | undefined> {
  const row = await reader.get(`select ${COLUMNS} from session where token_hash = $1`, [tokenHash]);
  return row === undefined ? undefined : fromRow(row);
}

/** Those of a person, the newest first. */
export async function listSessions(reader: Reader, personId: string): Promise<StoredSession[]> {
  const sql = `select ${COLUMNS} from session where person_id = $1 order by created_at desc, id`;
  return (await reader.all(sql, [personId])).map(fromRow);
}

/** Those that started in one session at the identity provider. */
export async function listProviderSessions(
  reader: Reader,
  providerSessionHash: string,
): Promise<StoredSession[]> {
  const sql = `select ${COLUMNS} from session where provider_session_hash = $1 order by id`;
  return (await reader.all(sql, [providerSessionHash])).map(fromRow);
}

export async function touchSession(tx: Transaction, tokenHash: string, now: number): Promise<void> {
  await tx.run("update session set seen_at = $2 where token_hash = $1", [tokenHash, now]);
}

/** @returns false when there is no such session of the person */
export async function moveSession(
  tx: Transaction,
  personId: string,
  id: string,
  projectId: string,
): Promise<boolean> {
  const sql = "update session set project_id = $3 where person_id = $1 and id = $2";
  return (await tx.run(sql, [personId, id, projectId])) === 1;
}

/** @returns false when there was no such session of the person */
export async function deleteSession(
  tx: Transaction,
  personId: string,
  id: string,
): Promise<boolean> {
  const sql = "delete from session where person_id = $1 and id = $2";
  return (await tx.run(sql, [personId, id])) === 1;
}

/**
 * Purges expired sessions.
 *
 * @returns the number of deleted rows, at most `limit`
 */
export async function deleteSessionsBefore(
  tx: Transaction,
  expiredBefore: number,
  limit: number,
): Promise<number> {
  return tx.run(
    `delete from session where token_hash in
       (select token_hash from session where expires_at <= $1 order by expires_at limit $2)`,
    [expiredBefore, limit],
  );
}

function fromRow(row: Row): StoredSession {
  return {
    id: row.id as string,
    personId: row.person_id as string,
    projectId: row.project_id as string,
    method: row.method as SignInMethod,
    userAgent: row.user_agent as string,
    createdAt: Number(row.created_at),
    seenAt: Number(row.seen_at),
    expiresAt: Number(row.expires_at),
    providerSessionHash: row.provider_session_hash as string | null,
    providerIssuedAt: row.provider_issued_at === null ? null : Number(row.provider_issued_at),
  };
}
