/**
 * Stored requests by the hundred thousand in a SQLite file, in seconds: copies of the rows that
 * the server wrote for one decided request.
 */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Row } from "../packages/server/src/storage/store.ts";
import { copyRows, integrityWith, type RequestRows, timeOf } from "./row-copies.ts";

const ROWS_PER_COMMIT = 20_000;

/**
 * Copies the first request of a database that no server has open, with its audit entries and
 * with its notification, if it has one that no attempt was made for.
 *
 * @param oldestMs how long ago the first of them was made and decided; the others follow evenly
 * @param onCopied called for each, in the order of their age
 */
export function copyFirstRequest(
  file: string,
  count: number,
  oldestMs: number,
  onCopied: (id: string, i: number) => void = () => undefined,
): void {
  const database = new DatabaseSync(file);
  database.exec("pragma synchronous = off; pragma cache_size = -1048576");
  const insert = copier(database, join(dirname(file), "secret.key"));
  const now = Date.now();
  for (let i = 0; i < count; i++) {
    if (i % ROWS_PER_COMMIT === 0) database.exec("begin");
    onCopied(insert(timeOf(i, count, oldestMs, now), `copied-${i}`), i);
    if ((i + 1) % ROWS_PER_COMMIT === 0 || i + 1 === count) database.exec("commit");
  }
  database.exec("pragma synchronous = full; pragma wal_checkpoint(truncate)");
  database.close();
}

/** @returns inserts the rows of one more request and answers its id */
function copier(database: DatabaseSync, keyFile: string): (at: number, key: string) => string {
  const rows = readFirst(database, keyFile);
  const insertRequest = inserter(database, "request", rows.request);
  const insertEntry = inserter(database, "audit_entry", rows.entries[0] ?? {});
  const insertNotification = inserter(database, "notification", rows.notification ?? {});
  return (at, key) => {
    const { request, entries, notification } = copyRows(rows, at, key);
    insertRequest(request);
    for (const entry of entries) insertEntry(entry);
    if (notification !== undefined) insertNotification(notification);
    return String(request.id);
  };
}

function readFirst(database: DatabaseSync, keyFile: string): RequestRows {
  const [keys = {}] = all(database, "select encrypted_row_key from secret_key");
  const integrity = integrityWith(readFileSync(keyFile, "utf8").trim(), keys.encrypted_row_key);
  const [request = {}] = all(database, "select * from request limit 1");
  const entries = all(database, "select * from audit_entry where subject like 'request:%'");
  const [notification] = all(database, "select * from notification limit 1");
  return { integrity, request, entries, notification };
}

function all(database: DatabaseSync, sql: string): Row[] {
  return database.prepare(sql).all() as Row[];
}

/** Inserts rows with the columns of the example, whatever these are. */
function inserter(database: DatabaseSync, name: string, example: Row): (row: Row) => void {
  const columns = Object.keys(example);
  if (columns.length === 0) return () => undefined;
  const places = columns.map(() => "?").join(", ");
  const statement = database.prepare(
    `insert into ${name} (${columns.join(", ")}) values (${places})`,
  );
  return (row) => statement.run(...columns.map((column) => row[column] ?? null));
}
