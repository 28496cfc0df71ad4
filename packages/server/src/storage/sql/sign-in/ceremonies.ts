/**
 * Rows of the table `ceremony`: what was begun with a browser and is to be ended by it, once and
 * soon. A challenge that a passkey is to sign, a sign-in that is at the identity provider.
 */

import type { Reader, Row, Transaction } from "../../store.ts";

export interface StoredCeremony {
  /** SHA-256 of what the browser brings back, base64url. */
  readonly id: string;
  /** A ceremony of one kind cannot complete one of another kind. */
  readonly kind: string;
  readonly personId: string | null;
  /** JSON text. */
  readonly detail: string;
  readonly expiresAt: number;
}

export async function insertCeremony(tx: Transaction, ceremony: StoredCeremony): Promise<void> {
  const { id, kind, personId, detail, expiresAt } = ceremony;
  await tx.insert(
    `insert into ceremony (id, kind, person_id, detail, expires_at)
     values ($1, $2, $3, $4, $5)`,
    [id, kind, personId, detail, expiresAt],
  );
}

/** Inserts a ceremony, or replaces the one with this id if the new one expires later. */
export async function extendCeremony(tx: Transaction, ceremony: StoredCeremony): Promise<void> {
  const { id, kind, personId, detail, expiresAt } = ceremony;
  await tx.run(
    `insert into ceremony (id, kind, person_id, detail, expires_at)
     values ($1, $2, $3, $4, $5)
     on conflict (id) do update set detail = excluded.detail, expires_at = excluded.expires_at
     where ceremony.expires_at < excluded.expires_at`,
    [id, kind, personId, detail, expiresAt],
  );
}

/** The ceremony, which stays. */
export async function readCeremony(
  reader: Reader,
  id: string,
  kind: string,
): Promise<StoredCeremony | undefined> {
  const sql = `select id, kind, person_id, detail, expires_at from ceremony
    where id = $1 and kind = $2`;
  const row = await reader.get(sql, [id, kind]);
  return row === undefined ? undefined : fromRow(row);
}

/**
 * Deletes a ceremony and returns it. Of concurrent calls for the same ceremony, one gets it.
 * Compare its time with `tx.now()` after this.
 */
export async function takeCeremony(
  tx: Transaction,
  id: string,
  kind: string,
): Promise<StoredCeremony | undefined> {
  const [row] = await tx.runReturning(
    `delete from ceremony where id = $1 and kind = $2
     returning id, kind, person_id, detail, expires_at`,
    [id, kind],
  );
  return row === undefined ? undefined : fromRow(row);
}

/**
 * Deletes unfinished ceremonies.
 *
 * @returns how many were purged, at most `limit`
 */
export async function deleteCeremoniesBefore(
  tx: Transaction,
  expiredBefore: number,
  limit: number,
): Promise<number> {
  return tx.run(
    `delete from ceremony where id in
       (select id from ceremony where expires_at <= $1 order by expires_at limit $2)`,
    [expiredBefore, limit],
  );
}

function fromRow(row: Row): StoredCeremony {
  return {
    id: row.id as string,
    kind: row.kind as string,
    personId: row.person_id as string | null,
    detail: row.detail as string,
    expiresAt: Number(row.expires_at),
  };
}
