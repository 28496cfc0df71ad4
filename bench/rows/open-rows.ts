/**
 * Where the server of rows writes: on SQLite by the provider's own store, whose transactions share
 * a commit; on PostgreSQL each transaction for itself, with all its statements sent at once.
 */

import { Pool, type PoolClient } from "pg";
import { systemClock } from "../../packages/server/src/clock.ts";
import { Integrity } from "../../packages/server/src/storage/integrity.ts";
import { SqliteStore } from "../../packages/server/src/storage/sqlite/sqlite-store.ts";
import type { Reader, Transaction } from "../../packages/server/src/storage/store.ts";

/** The statements of one transaction. None waits for the result of another. */
export type Writes = (tx: Transaction) => readonly Promise<unknown>[];

export interface Rows {
  /** The one that a provider has made before. */
  readonly instance: { readonly id: string; readonly projectId: string };
  /** Resolves when all of it is on the disk. */
  write(writes: Writes): Promise<void>;
}

/** Any key: no server reads these rows. */
const ROW_KEY = { key: new Uint8Array(32), since: 0 };

/** As many as a provider has by default. */
const CONNECTIONS = 20;

export function openRows(place: string): Promise<Rows> {
  return place.startsWith("postgres") ? openPostgres(place) : openSqlite(place);
}

async function openSqlite(file: string): Promise<Rows> {
  const store = new SqliteStore(file, systemClock, { isExclusive: true });
  store.integrity.useKey(ROW_KEY);
  return {
    instance: await findInstance(store),
    write: (writes) => store.transact(async (tx) => void (await Promise.all(writes(tx)))),
  };
}

async function openPostgres(url: string): Promise<Rows> {
  const pool = new Pool({ connectionString: url, max: CONNECTIONS, pipeline: true });
  return {
    instance: await instanceIn(pool),
    async write(writes) {
      const client = await pool.connect();
      const sent = [client.query("begin"), ...writes(prepared(client)), client.query("commit")];
      await Promise.all(sent).finally(() => client.release());
    },
  };
}

export function instanceIn(pool: Pool): Promise<Rows["instance"]> {
  return findInstance({ get: async (sql) => (await pool.query(sql)).rows[0] });
}

async function findInstance(reader: Pick<Reader, "get">): Promise<Rows["instance"]> {
  const row = await reader.get("select id, project_id from instance");
  if (row === undefined) throw new Error("no provider has made an instance here");
  return { id: String(row.id), projectId: String(row.project_id) };
}

const integrity = new Integrity();
integrity.useKey(ROW_KEY);

const names = new Map<string, string>();

/** Only what inserts and updates use; each statement is parsed once on each connection. */
export function prepared(client: PoolClient): Transaction {
  const run = async (text: string, values: readonly unknown[] = []) => {
    const name = names.get(text) ?? `rows_${names.size}`;
    names.set(text, name);
    return (await client.query({ name, text, values: [...values] })).rowCount ?? 0;
  };
  const insert = async (text: string, values: readonly unknown[]) => void (await run(text, values));
  return { run, insert, integrity } as Transaction;
}
