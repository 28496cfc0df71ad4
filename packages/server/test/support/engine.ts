/**
 * Which engine the providers of this test run are on: SQLite, or with
 * COUNTERSIGN_TEST_ENGINE=postgres a PostgreSQL of the tests' own. Every test about the contract
 * runs on both; those about the database file itself say so with `onlyOn`.
 */

import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { databaseFile } from "../../src/index.ts";
import type { SqlValue, Store } from "../../src/storage/store.ts";
import { createDatabase } from "./postgres.ts";

export type Engine = "sqlite" | "postgres";

const NAMED = process.env.COUNTERSIGN_TEST_ENGINE ?? "sqlite";

if (NAMED !== "sqlite" && NAMED !== "postgres") {
  throw new Error(`COUNTERSIGN_TEST_ENGINE is sqlite or postgres, not ${NAMED}`);
}

export const ENGINE: Engine = NAMED;

/** Options of a test that is about one engine: on others it is skipped, by name. */
export function onlyOn(engine: Engine, reason: string): { readonly skip: string | false } {
  return { skip: ENGINE === engine ? false : `only on ${engine}: ${reason}` };
}

/** `test`, for files that are about one engine: on others all are skipped, by name. */
export function testOnly(
  engine: Engine,
  reason: string,
): (name: string, run: (t: TestContext) => Promise<void> | void) => void {
  const options = onlyOn(engine, reason);
  return (name, run) => void test(name, options, run);
}

/** Databases by the data folder of their provider, which tests start again on the same. */
const databases = new Map<string, Promise<string>>();

/** Settings of a provider on this folder; a shared database needs a key before its first start. */
export async function databaseSettings(data: string): Promise<Readonly<Record<string, string>>> {
  if (ENGINE === "sqlite") return {};
  const keyFile = join(data, "secret.key");
  if (!existsSync(keyFile)) {
    // The server warns about a key file that other users may read.
    writeFileSync(keyFile, randomBytes(32).toString("base64"), { mode: 0o600 });
  }
  const url = databases.get(data) ?? createDatabase();
  databases.set(data, Promise.resolve(url));
  return { database_url: await url, database_connections_max: "10" };
}

/** As {@link databaseSettings}, for a server in a process of its own on a new database. */
export async function databaseEnvironment(): Promise<Readonly<Record<string, string>>> {
  if (ENGINE === "sqlite") return {};
  return {
    COUNTERSIGN_DATABASE_URL: await createDatabase(),
    COUNTERSIGN_SECRET_KEY: randomBytes(32).toString("base64"),
  };
}

/** A connection to the database of a provider from outside of it, as an operator has one. */
export interface OutsideDatabase {
  /** @param sql with `$1` for the first value */
  run(sql: string, values?: readonly SqlValue[]): Promise<void>;
}

/** Works on the database of a data folder. */
export async function withDatabase(
  data: string,
  work: (database: OutsideDatabase) => Promise<void>,
): Promise<void> {
  if (ENGINE === "postgres") return onPostgres(data, work);
  const database = new DatabaseSync(databaseFile(data));
  try {
    await work({
      async run(sql, values = []) {
        const named = values.map((value, i) => [`$${i + 1}`, value] as const);
        database.prepare(sql).run(Object.fromEntries(named));
      },
    });
  } finally {
    database.close();
  }
}

async function onPostgres(
  data: string,
  work: (database: OutsideDatabase) => Promise<void>,
): Promise<void> {
  const { database_url: connectionString = "" } = await databaseSettings(data);
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await work({
      async run(sql, values = []) {
        await client.query(sql, [...values]);
      },
    });
  } finally {
    await client.end();
  }
}

/**
 * Orders the rows of a table as they were inserted, if none of them was changed since. On
 * PostgreSQL by transaction and by statement in it: a page may be filled up later.
 */
export function asInserted({ isExclusive }: Store): string {
  // Of a test's own stores, those on SQLite have their file for themselves.
  return isExclusive ? "rowid" : "xmin::text::bigint, cmin::text::bigint";
}
