/**
 * Migrates a SQLite database with many decided requests from the oldest schema, with the command
 * `countersign migrate`, and checks that every row is unchanged and that a server accepts it.
 *
 * Measures the command: its time, its memory and its disk space. Then measures the first start of
 * a server on the result, and the background work that follows: the server seals the audit entries,
 * which had no sealed log in that schema, and indexes the requests for the search.
 *
 * The migration starts at schema 1, which version 0.1.0 created, because it is the most expensive
 * one. Migration 0005 copies every request and every audit entry to a new table, in one transaction
 * with all other migrations. Rows of schema 1 have a CRC-32 and no MAC. A server still accepts
 * them. The requests are cancelled: migration 0031 indexes each of them, unlike approved ones.
 */

import { hash } from "node:crypto";
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { databaseFile, systemClock } from "@countersign/server";
import { migrate } from "../packages/server/src/storage/migrate.ts";
import { readMigrations, schemaOf } from "../packages/server/src/storage/read-migrations.ts";
import { SqliteStore } from "../packages/server/src/storage/sqlite/sqlite-store.ts";
import { type CommandCost, runCommand } from "./command-cost.ts";
import { decideFirst, OLDEST_MS } from "./growth.ts";
import { createMessage, readMessage } from "./messages.ts";
import type { Options } from "./options.ts";
import { copyFirstRequest } from "./sqlite-row-copies.ts";
import { type Server, startServer, startSubject } from "./subject.ts";
import { mb, perSecond, reportProgress, table } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface Migration {
  readonly stored: number;
  /** Stored audit entries of requests and of everything else in their project. */
  readonly entries: number;
  readonly fileBeforeMb: number;
  readonly fileAfterMb: number;
  /** Part of the file after the migration that new rows will use. */
  readonly freeAfterMb: number;
  readonly command: MigrationCost;
  readonly server: ServerTimes;
}

interface MigrationCost extends CommandCost {
  /** All files that the process had open at one time, deleted ones included. */
  readonly diskMb: number;
}

interface ServerTimes {
  /** From the start of the process until it is ready. */
  readonly startSeconds: number;
  /** From ready until it has sealed all stored entries. */
  readonly sealedSeconds: number;
  /** From ready until it has indexed all stored requests. */
  readonly indexedSeconds: number;
}

const STORED = 2_000_000;

const OLD_SCHEMA = 1;

const MIGRATIONS = readMigrations();

/**
 * The tables of schema 1 to copy rows to, referenced ones first. Not `idempotency`: version 0.1.0
 * computed its fingerprints with another key, and this benchmark replays no provisioning.
 */
const OLD_TABLES = [
  "secret_key",
  "project",
  "provisioner",
  "reviewer",
  "instance",
  "credential",
  "request",
  "audit_entry",
];

const COMPARED_TABLES = ["request", "audit_entry"];

/** @throws Error when the migration fails, or the server does not have every row afterwards */
export async function measureMigration({ stored = STORED }: Options): Promise<Migration> {
  const folder = temporaryFolder();
  const file = databaseFile(folder);
  try {
    const token = await writeDatabase(folder, stored);
    reportProgress(`migrate: converting the database to schema ${OLD_SCHEMA}`);
    await downgrade(file);
    const before = use(file, (database) => describeRows(database, columnsOf(database)));
    const fileBeforeMb = sizeMb(file);
    reportProgress("migrate: running countersign migrate");
    const command = await runMigration(folder);
    const fileAfterMb = sizeMb(file);
    reportProgress("migrate: comparing the rows");
    const freeAfterMb = use(file, (database) => {
      assertConsistent(database);
      assertSame(before, describeRows(database, before.columns));
      return readFreeMb(database);
    });
    const server = await measureServer(folder, token, before);
    const { entries } = before;
    return { stored, entries, fileBeforeMb, fileAfterMb, freeAfterMb, command, server };
  } finally {
    removeFolder(folder);
  }
}

function use<T>(file: string, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/**
 * Fills a database with the current schema.
 *
 * @returns the token of the instance with the requests
 */
async function writeDatabase(folder: string, stored: number): Promise<string> {
  const subject = await startSubject({ connections: 1, folder });
  await decideFirst(subject);
  await subject.stop();
  copyFirstRequest(databaseFile(folder), stored - 1, OLDEST_MS, (_, i) => {
    if ((i + 1) % 200_000 === 0) reportProgress(`migrate: ${perSecond(i + 1)} requests stored`);
  });
  return subject.token;
}

/** Replaces a database with one of the old schema that has the same rows. */
async function downgrade(file: string): Promise<void> {
  const current = `${file}.current`;
  renameSync(file, current);
  const store = new SqliteStore(file, systemClock, { isExclusive: true });
  const migrations = MIGRATIONS.filter(({ version }) => version <= OLD_SCHEMA);
  await migrate(store, migrations, systemClock);
  await store.close();
  use(file, (database) => copyRows(database, current));
  rmSync(current);
}

function copyRows(database: DatabaseSync, current: string): void {
  database.function("old_checksum", { varargs: true }, oldChecksum);
  database.exec("pragma synchronous = off; pragma cache_size = -1048576");
  database.prepare("attach ? as current").run(current);
  for (const name of OLD_TABLES) {
    const columns = columnNames(database, name);
    const values = columns.map((column) => (column === "checksum" ? CHECKSUM : column));
    database.exec(
      `insert into main.${name} (${columns.join(", ")})
       select ${values.join(", ")} from current.${name}`,
    );
  }
}

/** The order of the columns in a checksum of version 0.1.0. */
const CHECKSUM = `old_checksum(arguments, id, instance_id, project_id, status, timeout, created_at,
  deadline_at, tool, agent_reasoning, context, decided_at, expires_at, decided_by, note)`;

function oldChecksum(callArguments: unknown, ...others: unknown[]): number {
  return crc32(String(callArguments), crc32(others.join("\n")));
}

function columnNames(database: DatabaseSync, tableName: string): string[] {
  const rows = database.prepare("select name from pragma_table_info(?, 'main')").all(tableName);
  return rows.map(({ name }) => String(name));
}

/** The columns to compare, by table. */
type Columns = Readonly<Record<string, readonly string[]>>;

function columnsOf(database: DatabaseSync): Columns {
  return Object.fromEntries(COMPARED_TABLES.map((name) => [name, columnNames(database, name)]));
}

interface Rows {
  readonly columns: Columns;
  /** Count and digest of each table. */
  readonly digests: readonly string[];
  /** Audit entries that belong to a project. */
  readonly entries: number;
  /** Ids of the first, the middle and the last request. */
  readonly sample: readonly string[];
}

function describeRows(database: DatabaseSync, columns: Columns): Rows {
  const requests = count(database, "request");
  const places = [0, Math.floor(requests / 2), requests - 1];
  return {
    columns,
    digests: Object.entries(columns).map(([name, names]) => digest(database, name, names)),
    entries: count(database, "audit_entry", "project_id <> ''"),
    sample: places.map((place) => readId(database, place)),
  };
}

function count(database: DatabaseSync, name: string, condition = "true"): number {
  const row = database.prepare(`select count(*) as n from ${name} where ${condition}`).get();
  return Number(row?.n);
}

function readId(database: DatabaseSync, place: number): string {
  const row = database.prepare("select id from request order by id limit 1 offset ?").get(place);
  return String(row?.id);
}

/** Does not depend on the order of the rows: sorting them would take longer than the migration. */
function digest(database: DatabaseSync, name: string, columns: readonly string[]): string {
  const rows = database.prepare(`select ${columns.join(", ")} from ${name}`).iterate();
  let sum = 0n;
  let rowCount = 0;
  for (const row of rows) {
    const content = JSON.stringify(columns.map((column) => row[column]));
    sum += hash("sha256", content, "buffer").readBigUInt64BE();
    rowCount++;
  }
  return `${name}: ${rowCount} rows, digest ${sum.toString(16)}`;
}

function assertSame(before: Rows, after: Rows): void {
  const [expected, actual] = [before, after].map((rows) => JSON.stringify(rows));
  if (expected === actual) return;
  throw new Error(`the migration changed rows: before ${expected}, afterwards ${actual}`);
}

/** @throws Error when the file is damaged, or a row references one that does not exist */
function assertConsistent(database: DatabaseSync): void {
  const { quick_check: verdict } = database.prepare("pragma quick_check(1)").get() ?? {};
  if (verdict !== "ok") throw new Error(`the migrated file is damaged: ${verdict}`);
  const orphan = database.prepare("pragma foreign_key_check").get();
  if (orphan === undefined) return;
  throw new Error(`the migration broke a reference: ${JSON.stringify(orphan)}`);
}

function sizeMb(file: string): number {
  return statSync(file).size / 1e6;
}

function readFreeMb(database: DatabaseSync): number {
  const sql = `select freelist_count * page_size / 1e6 as free
    from pragma_freelist_count, pragma_page_size`;
  return Number(database.prepare(sql).get()?.free);
}

/** @throws Error when the command fails */
async function runMigration(folder: string): Promise<MigrationCost> {
  let diskMb = 0;
  const cost = await runCommand(["migrate", "--data", folder], (pid) => {
    diskMb = Math.max(diskMb, openMb(pid));
  });
  const expected = `from schema ${OLD_SCHEMA} to ${schemaOf(MIGRATIONS)}.`;
  if (!cost.output.includes(expected)) {
    throw new Error(`countersign migrate printed: ${cost.output}`);
  }
  return { ...cost, diskMb };
}

/** Size of the files that a process has open. A migration has deleted ones for its rollback. */
function openMb(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  const files = readdirSync(folder).map((name) => statSync(`${folder}/${name}`));
  const sizes = new Map(files.filter((each) => each.isFile()).map(({ ino, size }) => [ino, size]));
  return [...sizes.values()].reduce((sum, size) => sum + size, 0) / 1e6;
}

/** @throws Error when the server rejects a stored row or a new request */
async function measureServer(folder: string, token: string, rows: Rows): Promise<ServerTimes> {
  reportProgress("migrate: starting a server");
  const startedAt = performance.now();
  const server = await startServer({ connections: 1, folder });
  const startSeconds = (performance.now() - startedAt) / 1_000;
  try {
    for (const id of rows.sample) await assertCancelled(server, token, id);
    await send(server, createMessage(token, 1), 201);
    return { startSeconds, ...(await measureBackground(databaseFile(folder), rows)) };
  } finally {
    await server.stop();
  }
}

async function assertCancelled(server: Server, token: string, id: string): Promise<void> {
  const body = await send(server, readMessage(token, id), 200);
  const request = JSON.parse(body) as { readonly id: string; readonly status: string };
  if (request.id === id && request.status === "cancelled") return;
  throw new Error(`the request ${id} was read as ${body}`);
}

async function send({ connections }: Server, message: string, expected: number): Promise<string> {
  const [connection] = connections;
  if (connection === undefined) throw new Error("no connection is open");
  const { status, body } = await connection.exchange(message);
  if (status === expected) return body.toString("utf8");
  throw new Error(`the migrated server answered ${status}: ${body}`);
}

const POLL_EVERY_MS = 500;
const REPORT_EVERY_MS = 60_000;
/** Background work without progress for this time has failed. */
const STALLED_MS = 180_000;

/** Both counts are of audit entries. */
interface Progress {
  readonly sealed: number;
  readonly indexed: number;
}

/** @throws Error when the background work does not complete */
async function measureBackground(
  file: string,
  { sample }: Rows,
): Promise<Pick<ServerTimes, "sealedSeconds" | "indexedSeconds">> {
  const startedAt = performance.now();
  const database = new DatabaseSync(file);
  try {
    // With those of the new request.
    const entries = count(database, "audit_entry", "project_id <> ''");
    await poll(database, ({ sealed }) => sealed >= entries);
    const sealedSeconds = (performance.now() - startedAt) / 1_000;
    await poll(database, ({ indexed }) => indexed >= entries);
    const indexedSeconds = (performance.now() - startedAt) / 1_000;
    assertIndexed(database, sample.at(-1) ?? "");
    return { sealedSeconds, indexedSeconds };
  } finally {
    database.close();
  }
}

async function poll(
  database: DatabaseSync,
  isComplete: (progress: Progress) => boolean,
): Promise<void> {
  let last = readProgress(database);
  let changedAt = performance.now();
  let reportedAt = 0;
  while (!isComplete(last)) {
    if (performance.now() - reportedAt > REPORT_EVERY_MS) {
      reportProgress(`migrate: ${last.sealed} entries sealed, ${last.indexed} indexed`);
      reportedAt = performance.now();
    }
    await sleep(POLL_EVERY_MS);
    const next = readProgress(database);
    if (next.sealed + next.indexed > last.sealed + last.indexed) changedAt = performance.now();
    if (performance.now() - changedAt > STALLED_MS) {
      throw new Error(`the background work stopped at ${JSON.stringify(next)}`);
    }
    last = next;
  }
}

function readProgress(database: DatabaseSync): Progress {
  const sql = `select
    (select coalesce(sum(size), 0) from audit_log where project_id <> '') as sealed,
    (select coalesce(sum(position), 0) from search_progress) as indexed`;
  const row = database.prepare(sql).get();
  return { sealed: Number(row?.sealed), indexed: Number(row?.indexed) };
}

/** The server indexes only requests with a correct checksum, so this verifies all of them. */
function assertIndexed(database: DatabaseSync, lastId: string): void {
  const stored = count(database, "request", `id <= '${lastId}'`);
  const indexed = count(database, "search_document", `request_id <= '${lastId}'`);
  if (indexed === stored) return;
  throw new Error(`the server indexed ${indexed} of ${stored} stored requests`);
}

export function migrationTable(migration: Migration): string {
  const { stored, entries, fileBeforeMb, fileAfterMb, freeAfterMb, command, server } = migration;
  const seconds = (value: number) => `${value.toFixed(1)} s`;
  const size = (value: number) => `${mb(value)} MB`;
  const schemas = `schema ${OLD_SCHEMA} to ${schemaOf(MIGRATIONS)}`;
  return table([
    [`${perSecond(stored)} decided requests, ${perSecond(entries)} audit entries`, schemas],
    ["countersign migrate", seconds(command.seconds)],
    ["its peak memory", size(command.memoryMb)],
    ["its peak disk space, database included", size(command.diskMb)],
    ["database file before", size(fileBeforeMb)],
    ["database file after", size(fileAfterMb)],
    ["free pages in it", size(freeAfterMb)],
    ["first start of the server, spawn to ready", seconds(server.startSeconds)],
    ["ready to all audit entries sealed", seconds(server.sealedSeconds)],
    ["ready to all requests in the search index", seconds(server.indexedSeconds)],
  ]);
}
