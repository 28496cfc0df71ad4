/**
 * Rows of the table `passkey`: public keys with which people sign in and sign decisions.
 */

import type { Reader, Row, Transaction } from "../../store.ts";

export interface StoredPasskey {
  /** The credential id, base64url. */
  readonly id: string;
  readonly personId: string;
  /** Display name, chosen by its owner. */
  readonly name: string;
  /** COSE key, base64url; never changed. */
  readonly publicKey: string;
  /** The highest signature counter received; 0 for an authenticator without a counter. */
  readonly counter: number;
  readonly transports: readonly string[];
  readonly createdAt: number;
  readonly usedAt: number | null;
}

const COLUMNS = "id, person_id, name, public_key, counter, transports, created_at, used_at";

/** @returns false when the id exists; the existing row stays unchanged */
export async function insertPasskey(tx: Transaction, passkey: StoredPasskey): Promise<boolean> {
  const inserted = await tx.run(
    `insert into passkey (id, person_id, name, public_key, counter, transports, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (id) do nothing`,
    [
      passkey.id,
      passkey.personId,
      passkey.name,
      passkey.publicKey,
      passkey.counter,
      JSON.stringify(passkey.transports),
      passkey.createdAt,
    ],
  );
  return inserted === 1;
}

export async function readPasskey(reader: Reader, id: string): Promise<StoredPasskey | undefined> {
  return toPasskey(await reader.get(`select ${COLUMNS} from passkey where id = $1`, [id]));
}

export async function lockPasskey(tx: Transaction, id: string): Promise<StoredPasskey | undefined> {
  return toPasskey(await tx.lock("update", `select ${COLUMNS} from passkey where id = $1`, [id]));
}

/** Those of a person, the oldest first. */
export async function listPasskeysOf(reader: Reader, personId: string): Promise<StoredPasskey[]> {
  const sql = `select ${COLUMNS} from passkey where person_id = $1 order by created_at, id`;
  return (await reader.all(sql, [personId])).flatMap((row) => toPasskey(row) ?? []);
}

export async function hasPasskey(reader: Reader, personId: string): Promise<boolean> {
  const sql = "select id from passkey where person_id = $1 limit 1";
  return (await reader.get(sql, [personId])) !== undefined;
}

/** @returns passkeys by their ids; removed ones are absent */
export async function readPasskeys(
  reader: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredPasskey>> {
  if (ids.length === 0) return new Map();
  const params = ids.map((_, i) => `$${i + 1}`).join(", ");
  const rows = await reader.all(`select ${COLUMNS} from passkey where id in (${params})`, ids);
  return new Map(
    rows.flatMap((row) => toPasskey(row) ?? []).map((passkey) => [passkey.id, passkey]),
  );
}

export async function recordPasskeyUse(
  tx: Transaction,
  id: string,
  counter: number,
  usedAt: number,
): Promise<void> {
  const sql = "update passkey set counter = $2, used_at = $3 where id = $1";
  await tx.run(sql, [id, counter, usedAt]);
}

export async function renamePasskeyRow(tx: Transaction, id: string, name: string): Promise<void> {
  await tx.run("update passkey set name = $2 where id = $1", [id, name]);
}

export async function deletePasskey(tx: Transaction, id: string): Promise<void> {
  await tx.run("delete from passkey where id = $1", [id]);
}

function toPasskey(row: Row | undefined): StoredPasskey | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id as string,
    personId: row.person_id as string,
    name: row.name as string,
    publicKey: row.public_key as string,
    counter: Number(row.counter),
    transports: JSON.parse(row.transports as string) as string[],
    createdAt: Number(row.created_at),
    usedAt: row.used_at === null ? null : Number(row.used_at),
  };
}
