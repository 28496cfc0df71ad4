/**
 * Millions of stored requests in a PostgreSQL database, in minutes, and what they cost those that
 * come after them.
 */

import { Client } from "pg";
import type { Row } from "../../packages/server/src/storage/store.ts";
import { compareGrowth, decideFirst, type Growth, OLDEST_MS, READ_SAMPLE } from "../growth.ts";
import type { Options } from "../options.ts";
import { copyRows, integrityWith, type RequestRows, timeOf } from "../row-copies.ts";
import { startSubject } from "../subject.ts";
import { perSecond, reportProgress } from "../table.ts";
import { type DatabaseServer, settle } from "./database-server.ts";
import { type SharedSettings, sharedSettings } from "./shared-subject.ts";

const STORED = 2_000_000;

const ROWS_PER_STATEMENT = 2_000;

export async function measureSharedGrowth(
  server: DatabaseServer,
  options: Options,
): Promise<Growth> {
  const { connections, stored = STORED } = options;
  const grownUrl = await server.createDatabase();
  const settings = sharedSettings(grownUrl);
  const filling = await startSubject({ connections: 1, settings });
  await decideFirst(filling);
  await filling.stop();
  const ids = await copyRequests(settings, stored);
  // As autovacuum would have done by the time that so many had come.
  await settle(grownUrl);
  const emptySettings = sharedSettings(await server.createDatabase());
  const empty = await startSubject({ connections, settings: emptySettings });
  const grown = await startSubject({ connections, settings, firstNumber: 1 });
  try {
    return await compareGrowth({ stored, empty, grown, ids }, options);
  } finally {
    await empty.stop();
    await grown.stop();
  }
}

/** @returns ids to read, evenly over the age of all */
async function copyRequests(settings: SharedSettings, count: number): Promise<string[]> {
  const client = new Client({ connectionString: settings.database_url });
  await client.connect();
  await client.query("set synchronous_commit = off");
  const rows = await readFirst(client, settings.secret_key);
  const ids: string[] = [];
  const sampleEvery = Math.max(1, Math.floor(count / READ_SAMPLE));
  const now = Date.now();
  for (let from = 0; from < count; from += ROWS_PER_STATEMENT) {
    const copies: RequestRows[] = [];
    for (let i = from; i < Math.min(from + ROWS_PER_STATEMENT, count); i++) {
      const copy = copyRows(rows, timeOf(i, count, OLDEST_MS, now), `copied-${i}`);
      if (i % sampleEvery === 0) ids.push(String(copy.request.id));
      copies.push(copy);
    }
    await insertAll(
      client,
      "request",
      copies.map(({ request }) => request),
    );
    await insertAll(
      client,
      "audit_entry",
      copies.flatMap(({ entries }) => entries),
    );
    const stored = from + copies.length;
    if (stored % 200_000 === 0) reportProgress(`postgres: ${perSecond(stored)} requests stored`);
  }
  await client.end();
  return ids;
}

async function readFirst(client: Client, secretKey: string): Promise<RequestRows> {
  const keys = await client.query("select encrypted_row_key from secret_key");
  const integrity = integrityWith(secretKey, keys.rows[0]?.encrypted_row_key);
  const [request = {}] = await all(client, "select * from request limit 1");
  const entries = await all(client, "select * from audit_entry where subject like 'request:%'");
  return { integrity, request, entries, notification: undefined };
}

async function all(client: Client, sql: string): Promise<Row[]> {
  return (await client.query(sql)).rows;
}

/** One statement with an array for each column. */
async function insertAll(client: Client, name: string, rows: readonly Row[]): Promise<void> {
  const types = await typesOf(client, name);
  const columns = [...types.keys()];
  const places = columns.map((column, i) => `$${i + 1}::${types.get(column)}[]`);
  const text = `insert into ${name} (${columns.join(", ")})
    select * from unnest(${places.join(", ")})`;
  await client.query({
    name,
    text,
    values: columns.map((column) => rows.map((row) => row[column])),
  });
}

const knownTypes = new Map<string, ReadonlyMap<string, string>>();

async function typesOf(client: Client, name: string): Promise<ReadonlyMap<string, string>> {
  const known = knownTypes.get(name);
  if (known !== undefined) return known;
  const sql = `select column_name, data_type from information_schema.columns
    where table_name = '${name}' order by ordinal_position`;
  const rows = await all(client, sql);
  const types = new Map(rows.map((row) => [String(row.column_name), String(row.data_type)]));
  knownTypes.set(name, types);
  return types;
}
