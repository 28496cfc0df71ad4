// Needs: pgbouncer
/**
 * A real PgBouncer in transaction mode, with the file of deploy/pgbouncer, in front of a real
 * PostgreSQL.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findFreePort } from "@countersign/testing/free-port";
import { systemRandom } from "../src/clock.ts";
import { Failure } from "../src/failure.ts";
import { PostgresStore } from "../src/storage/postgres/postgres-store.ts";
import { execute, startPostgres } from "./support/postgres.ts";

const PGBOUNCER = process.env.PGBOUNCER ?? "/usr/sbin/pgbouncer";

const CONFIGURATION = join(import.meta.dirname, "../../../deploy/pgbouncer/pgbouncer.ini");

/** PgBouncer does not run as root. */
const OWNER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Since this version it knows max_prepared_statements. */
const PREPARES_SINCE = 121;

function version(): number {
  const text = execFileSync(PGBOUNCER, ["--version"], { encoding: "utf8" });
  const [, major, minor = ""] = /PgBouncer (\d+)\.(\d+)/.exec(text) ?? [];
  return Number(`${major}${minor.padStart(2, "0")}`);
}

const BOUNDS = ["statement_timeout = '10s'", "lock_timeout = '5s'"];
const IDLE_BOUND = "idle_in_transaction_session_timeout = '15s'";

type Change = readonly [pattern: RegExp, line: string];

/** @param changes of the configuration file, besides addresses and users */
async function startPooler(t: TestContext, changes: readonly Change[]): Promise<string> {
  const database = await startPostgres();
  t.after(() => database.stop());
  const bounds = [...BOUNDS, IDLE_BOUND].map((bound) => `alter role postgres set ${bound}`);
  await execute(database.url, ...bounds);
  const folder = mkdtempSync(join(tmpdir(), "countersign-pooler-"));
  t.after(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const port = await findFreePort();
  const target = `host=127.0.0.1 port=${new URL(database.url).port} dbname=postgres user=postgres`;
  const all: readonly Change[] = [
    [/^countersign = .*$/m, `countersign = ${target}`],
    [/^listen_port = .*$/m, `listen_port = ${port}`],
    [/^auth_type = .*$/m, "auth_type = any"],
    [/^auth_file = .*$/m, ""],
    ...changes,
  ];
  let text = readFileSync(CONFIGURATION, "utf8");
  for (const [pattern, line] of all) {
    assert.match(text, pattern);
    text = text.replace(pattern, line);
  }
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(file, text);
  const pooler = spawn(PGBOUNCER, [file], { ...OWNER, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(pooler, "exit");
  process.once("exit", () => pooler.kill("SIGKILL"));
  t.after(() => {
    pooler.kill("SIGKILL");
    return ended;
  });
  let log = "";
  pooler.stderr.setEncoding("utf8");
  for await (const chunk of pooler.stderr.iterator({ destroyOnReturn: false })) {
    log += chunk;
    if (log.includes("process up")) break;
  }
  assert.match(log, /process up/);
  pooler.stderr.resume();
  return `postgres://postgres@127.0.0.1:${port}/countersign`;
}

async function open(url: string): Promise<void> {
  const options = { url, connectionsMax: 5, acceptsLoss: true, random: systemRandom() };
  const store = await PostgresStore.open(options);
  await store.close();
}

const PREPARED = /^max_prepared_statements = .*$/m;

/** As it was before 1.21, in whatever version is here. */
const LOSES_PREPARED: Change =
  version() < PREPARES_SINCE ? [PREPARED, ""] : [PREPARED, "max_prepared_statements = 0"];

test("[ours.deploy.pooler] the server rejects a pooler that loses prepared statements at the start", async (t) => {
  const url = await startPooler(t, [LOSES_PREPARED]);
  await assert.rejects(
    open(url),
    (error) =>
      error instanceof Failure &&
      /loses prepared statements .* PgBouncer 1\.21/.test(error.message),
  );
});

test("[ours.deploy.pooler] a pooler that keeps prepared statements is accepted", async (t) => {
  const session: Change = [/^pool_mode = .*$/m, "pool_mode = session"];
  await open(await startPooler(t, [LOSES_PREPARED, session]));
  if (version() >= PREPARES_SINCE) await open(await startPooler(t, []));
});

test("[ours.deploy.pooler] a pooler with one connection of the database is accepted", async (t) => {
  const single: Change = [/^default_pool_size = .*$/m, "default_pool_size = 1"];
  const patience: Change = [/^query_wait_timeout = .*$/m, "query_wait_timeout = 1"];
  await open(await startPooler(t, [LOSES_PREPARED, single, patience]));
});
