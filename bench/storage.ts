/**
 * Disk space of requests that a policy approves at once: the bytes that each adds to the
 * write-ahead log of SQLite, and the bytes of the database for each, by table and index.
 */

import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { databaseFile } from "@countersign/server";
import { createMessage } from "./messages.ts";
import { policyOfManyRules } from "./policy.ts";
import { type ServedSubject, startSubject } from "./subject.ts";
import { perSecond, reportProgress, table } from "./table.ts";
import { removeFolder, temporaryFolder } from "./temporary-folder.ts";

export interface Storage {
  readonly log: readonly LogGrowth[];
  readonly database: DatabaseBytes;
}

export interface LogGrowth {
  readonly connections: number;
  readonly bodyBytes: number;
  readonly bytesPerRequest: number;
}

interface DatabaseBytes {
  readonly requests: number;
  readonly bodyBytes: number;
  /** Of all tables and indexes, the audit log included, for one request. */
  readonly bytesPerRequest: number;
  readonly parts: readonly { readonly name: string; readonly bytesPerRequest: number }[];
}

const CONNECTIONS = [1, 32];
/** Makes a body of 2 KB. */
const LONG_MEMO = "x".repeat(1_540);
const WARM_UP = 50;
const LOGGED = 500;
const STORED_SECONDS = 5;
/** The server seals the last audit entries in this time. */
const SEALED_MS = 4_000;
/** Smaller tables are in the sum only. */
const SHOWN_BYTES_MIN = 20;

export async function measureStorage(): Promise<Storage> {
  const log: LogGrowth[] = [];
  for (const connections of CONNECTIONS) {
    for (const memo of ["", LONG_MEMO]) log.push(await measureLog(connections, memo));
  }
  return { log, database: await measureDatabase() };
}

/** Mostly without the seals of the audit log, which the server writes later. */
async function measureLog(connections: number, memo: string): Promise<LogGrowth> {
  reportProgress(`storage: write-ahead log, ${connections} connections`);
  const folder = temporaryFolder();
  const subject = await startSubject({ connections, folder, policy: policyOfManyRules() });
  const file = databaseFile(folder);
  const reader = new DatabaseSync(file);
  try {
    // While a reader has a snapshot, the log grows and does not start anew.
    reader.exec("begin; select count(*) from sqlite_schema");
    await create(subject, memo, { count: WARM_UP, seconds: 60 });
    const before = statSync(`${file}-wal`).size;
    await create(subject, memo, { count: LOGGED, seconds: 60 });
    const bytesPerRequest = (statSync(`${file}-wal`).size - before) / LOGGED;
    return { connections, bodyBytes: bodyBytes(memo), bytesPerRequest };
  } finally {
    reader.close();
    await subject.stop();
    removeFolder(folder);
  }
}

async function measureDatabase(): Promise<DatabaseBytes> {
  reportProgress("storage: database");
  const folder = temporaryFolder();
  const subject = await startSubject({
    connections: 32,
    folder,
    policy: policyOfManyRules(),
  });
  try {
    await create(subject, "", { count: Number.POSITIVE_INFINITY, seconds: STORED_SECONDS });
    await sleep(SEALED_MS);
    await subject.stop();
    return readBytes(databaseFile(folder));
  } finally {
    await subject.stop();
    removeFolder(folder);
  }
}

function readBytes(file: string): DatabaseBytes {
  const database = new DatabaseSync(file, { readOnly: true });
  const requests = Number(database.prepare("select count(*) as n from request").get()?.n);
  const rows = database
    .prepare("select name, sum(pgsize) as bytes from dbstat group by name order by bytes desc")
    .all();
  database.close();
  const parts = rows.map(({ name, bytes }) => ({
    name: String(name),
    bytesPerRequest: Number(bytes) / requests,
  }));
  const bytesPerRequest = parts.reduce((sum, part) => sum + part.bytesPerRequest, 0);
  return { requests, bodyBytes: bodyBytes(""), bytesPerRequest, parts };
}

interface Limit {
  readonly count: number;
  readonly seconds: number;
}

async function create(
  { token, nextNumber, run }: ServedSubject,
  memo: string,
  { count, seconds }: Limit,
): Promise<void> {
  let left = count;
  const next = () => (left-- > 0 ? createMessage(token, nextNumber(), memo) : undefined);
  await run({ next, status: 201 }, seconds);
}

function bodyBytes(memo: string): number {
  const message = createMessage("", 0, memo);
  return message.length - message.indexOf("\r\n\r\n") - "\r\n\r\n".length;
}

export function storageTables({ log, database }: Storage): string[] {
  const { requests, parts, bytesPerRequest } = database;
  const shown = parts.filter((part) => part.bytesPerRequest >= SHOWN_BYTES_MIN);
  return [
    table([
      ["bytes of the write-ahead log for a decided create", "body bytes", "KB"],
      ...log.map((each) => [
        `${each.connections} connections`,
        String(each.bodyBytes),
        (each.bytesPerRequest / 1_000).toFixed(1),
      ]),
    ]),
    table([
      [`database bytes, of ${perSecond(requests)} decided requests`, "for each"],
      ["all", bytesPerRequest.toFixed(0)],
      ...shown.map((part) => [part.name, part.bytesPerRequest.toFixed(0)]),
    ]),
  ];
}
