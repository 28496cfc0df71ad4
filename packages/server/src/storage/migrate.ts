/**
 * Brings a database to the schema that this program knows: plain numbered SQL files, applied in
 * order, each in one transaction. A database that is newer than the program is refused, because
 * an old program would not keep promises that a newer schema stands for.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import type { Store, Transaction } from "./store.ts";

const DIRECTORY = join(import.meta.dirname, "migrations");
const FILE_NAME = /^(\d{4})_[a-z_]+\.sql$/;

interface Migration {
  readonly version: number;
  readonly sql: string;
}

/**
 * For programs that run beside a server: the schema changes only when a server starts.
 *
 * @throws Failure when the database has another schema than this program
 */
export async function assertMigrated(store: Store): Promise<number> {
  const newest = readMigrations().at(-1)?.version ?? 0;
  const current = Number((await store.get("select version from schema_version"))?.version ?? 0);
  if (current === newest) return current;
  throw new Failure(
    "store",
    `the database has schema ${current}, this program has ${newest}: ` +
      "use the program that the server runs, or start the server with this one first",
  );
}

/**
 * @returns the version that the database has now
 * @throws Failure when the database is newer than this program
 */
export async function migrate(store: Store): Promise<number> {
  const migrations = readMigrations();
  return store.transactAlone(async (tx) => {
    await tx.run("create table if not exists schema_version (version bigint not null)");
    const current = Number((await tx.get("select version from schema_version"))?.version ?? 0);
    const newest = migrations.at(-1)?.version ?? 0;
    if (current > newest) {
      throw new Failure(
        "store",
        `the database has schema ${current}, this program knows ${newest}: use a newer countersign`,
      );
    }
    for (const { version, sql } of migrations) {
      if (version > current) await apply(tx, version, sql);
    }
    return newest;
  });
}

async function apply(tx: Transaction, version: number, sql: string): Promise<void> {
  for (const statement of splitStatements(sql)) await tx.run(statement);
  await tx.run("delete from schema_version");
  await tx.run("insert into schema_version (version) values ($1)", [version]);
}

function readMigrations(): Migration[] {
  return readdirSync(DIRECTORY)
    .sort()
    .flatMap((name) => {
      const match = FILE_NAME.exec(name);
      if (match === null) return [];
      return [{ version: Number(match[1]), sql: readFileSync(join(DIRECTORY, name), "utf8") }];
    });
}

/** Migrations hold plain statements: no semicolon inside a string or a body. */
function splitStatements(sql: string): string[] {
  return sql
    .replace(/--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}
