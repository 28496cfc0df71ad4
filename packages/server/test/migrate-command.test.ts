import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { exchange, newAgent } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { countersign, startServer } from "@countersign/testing/countersign";
import { systemClock } from "../src/clock.ts";
import { databaseFile } from "../src/index.ts";
import { migrate } from "../src/storage/migrate.ts";
import { readMigrations } from "../src/storage/read-migrations.ts";
import { SqliteStore } from "../src/storage/sqlite/sqlite-store.ts";
import { KNOWN, PREVIOUS } from "./support/later-migrations.ts";
import { createDatabase } from "./support/postgres.ts";

const OFF = { COUNTERSIGN_MIGRATIONS_OFF: "true" };

/** The oldest program that can go on with the schema before this program's. */
const OLDEST = readMigrations().at(-2)?.compatibleWith;

/** A data folder whose database has the schema before this program's. */
async function olderData(t: TestContext): Promise<string> {
  const data = join(temporaryFolder(t), "data");
  mkdirSync(data);
  const store = new SqliteStore(databaseFile(data), systemClock, { isExclusive: true });
  await migrate(store, readMigrations().slice(0, -1), systemClock);
  await store.close();
  return data;
}

test("[ours.migrate.command] [ours.migrate.check] it creates the tables of a new PostgreSQL without a secret key, and --check changes nothing", async (t) => {
  const env = { COUNTERSIGN_DATABASE_URL: await createDatabase() };
  const run = (...args: string[]) => countersign(t, ["migrate", ...args], { env });
  const before = await run("--check");
  assert.deepEqual([before.code, before.stderr], [1, ""]);
  assert.match(before.stdout, new RegExp(`has schema 0, this program needs ${KNOWN}: run`));
  assert.deepEqual(await run("--check"), before);
  const made = await run();
  assert.deepEqual([made.code, made.stderr], [0, ""]);
  assert.equal(made.stdout, `Migrated the database from schema 0 to ${KNOWN}.\n`);
  for (const again of [await run(), await run("--check")]) {
    assert.deepEqual([again.code, again.stderr], [0, ""]);
    assert.match(again.stdout, /nothing to do/);
  }
});

test("[ours.migrate.command] it runs beside replicas, and several of it at one time do it once", async (t) => {
  const key = randomBytes(32).toString("base64");
  const url = await createDatabase();
  const env = { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_SECRET_KEY: key };
  const runs = Array.from({ length: 3 }, () => countersign(t, ["migrate"], { env }));
  for (const { code, stderr } of await Promise.all(runs)) assert.deepEqual([code, stderr], [0, ""]);
  const server = await startServer(t, { env });
  assert.equal((await countersign(t, ["migrate"], { env })).code, 0);
  assert.equal((await exchange("GET", `${server.url}/readyz`)).status, 200);
});

test("[ours.migrate.command] a data folder is migrated while no server runs on it, and only then", async (t) => {
  const data = await olderData(t);
  const check = await countersign(t, ["migrate", "--check", "--json", "--data", data]);
  assert.equal(check.code, 1);
  assert.deepEqual(JSON.parse(check.stdout), {
    version: PREVIOUS,
    needed: KNOWN,
    oldest_program: OLDEST,
    usable: false,
  });
  const migrated = await countersign(t, ["migrate", "--json", "--data", data]);
  assert.equal(migrated.code, 0, migrated.stderr);
  assert.deepEqual(JSON.parse(migrated.stdout).from, PREVIOUS);

  const server = await startServer(t);
  const agent = await newAgent(server);
  const refused = await countersign(t, ["migrate", "--data", server.data]);
  assert.deepEqual([refused.code, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /^countersign: another server is running on [^\n]+\n$/);
  assert.equal((await countersign(t, ["migrate", "--check", "--data", server.data])).code, 0);
  assert.equal((await agent.submit()).status, "pending");
});

test("[ours.migrate.command] a mistyped folder does not become a database", async (t) => {
  const data = join(temporaryFolder(t), "mistyped");
  for (const args of [["migrate"], ["migrate", "--check"]]) {
    const { code, stderr } = await countersign(t, [...args, "--data", data]);
    assert.equal(code, 1);
    assert.match(stderr, /no database found in/);
  }
});

test("[ours.migrate.command] other commands do not create tables in a mistyped PostgreSQL", async (t) => {
  const key = randomBytes(32).toString("base64");
  const env = { COUNTERSIGN_DATABASE_URL: await createDatabase(), COUNTERSIGN_SECRET_KEY: key };
  for (const args of [
    ["tokens", "list"],
    ["people", "disable", "ana"],
  ]) {
    const { code, stderr } = await countersign(t, args, { env });
    assert.equal(code, 1);
    assert.match(stderr, /no database found at database_url/);
  }
  const check = await countersign(t, ["migrate", "--check"], { env });
  assert.match(check.stdout, /has schema 0/);
});

test("[ours.migrate.off] with migrations off a start changes no schema and names the command", async (t) => {
  const key = randomBytes(32).toString("base64");
  const url = await createDatabase();
  const env = { ...OFF, COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_SECRET_KEY: key };
  const serve = ["serve", "--port", "0"];
  const refused = await countersign(t, serve, { env });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /has schema 0, this program needs \d+: run countersign migrate/);
  assert.equal((await countersign(t, ["migrate", "--check"], { env })).code, 1);
  assert.equal((await countersign(t, ["migrate"], { env })).code, 0);
  await (await startServer(t, { env })).stop();

  const data = await olderData(t);
  const older = await countersign(t, [...serve, "--data", data], {
    env: { ...OFF, COUNTERSIGN_SECRET_KEY: key },
  });
  assert.equal(older.code, 1);
  const message = `has schema ${PREVIOUS}, this program needs ${KNOWN}: run countersign migrate`;
  assert.match(older.stderr, new RegExp(message));
});

test("[ours.migrate.off] a new data folder is created with migrations off", async (t) => {
  const server = await startServer(t, { env: OFF });
  assert.equal((await exchange("GET", `${server.url}/readyz`)).status, 200);
});
