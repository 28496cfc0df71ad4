// Tier: slow
import assert from "node:assert/strict";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileOwner } from "@countersign/testing/child";
import { countersign, spawnCountersign, startServer } from "@countersign/testing/countersign";
import { Client } from "pg";
import {
  assertImported,
  copyOf,
  makeSource,
  newTarget,
  runImport,
  startImport,
  type Target,
} from "./support/imports.ts";
import { execute } from "./support/postgres.ts";
import { until } from "./support/until.ts";

const source = await makeSource(fileOwner());

interface Blocked {
  /** How many wait for a lock of this kind: `relation`, `advisory`. */
  waiting(kind: string): Promise<number>;
  /** Lets the import go on. */
  release(): Promise<void>;
}

/** Keeps everybody from writing one of the last tables that are copied. */
async function block(t: TestContext, target: Target): Promise<Blocked> {
  await countersign(t, ["migrate"], { env: target.env });
  const [holder, observer] = [target.url, target.url].map(
    (connectionString) => new Client({ connectionString }),
  ) as [Client, Client];
  for (const client of [holder, observer]) {
    await client.connect();
    t.after(() => client.end());
  }
  await holder.query("begin");
  await holder.query("lock table notification in exclusive mode");
  const sql = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'
    and wait_event = $1 and datname = current_database()`;
  return {
    waiting: async (kind) => (await observer.query(sql, [kind])).rows[0].n,
    release: async () => void (await holder.query("commit")),
  };
}

test("[ours.import.interrupted] killed in the middle, it leaves an empty target and a folder that is served as before", async (t) => {
  const data = copyOf(source, t);
  const target = await newTarget(source);
  const blocked = await block(t, target);
  const child = startImport(t, data, target);
  await until(async () => (await blocked.waiting("relation")) === 1, "it is in the middle");
  await child.end("SIGKILL");
  await blocked.release();
  await until(async () => (await blocked.waiting("relation")) === 0, "its transaction ends");

  const server = await startServer(t, { data });
  await assertImported(server, source);
  await server.stop();
  const again = await runImport(t, data, target);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stdout, /^Imported and compared/);
  await assertImported(await startServer(t, { env: target.env }), source);
});

test("[ours.import.interrupted] a server that starts during the import waits, and then serves all data", async (t) => {
  const target = await newTarget(source);
  const blocked = await block(t, target);
  const importing = startImport(t, copyOf(source, t), target);
  await until(async () => (await blocked.waiting("relation")) === 1, "it is in the middle");
  const starting = startServer(t, { env: target.env });
  await until(async () => (await blocked.waiting("advisory")) === 1, "the server waits");
  await blocked.release();
  assert.equal((await importing.ends()).code, 0);
  await assertImported(await starting, source);
});

test("[ours.import.interrupted] ended between the commit and the last word, it is found complete", async (t) => {
  const data = copyOf(source, t);
  const target = await newTarget(source);
  assert.equal((await runImport(t, data, target)).code, 0);
  renameSync(join(data, "MOVED"), join(data, "MOVING"));
  const serve = ["serve", "--port", "0", "--data", data];
  const refused = await countersign(t, serve);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /may be in PostgreSQL already.* repeat the same countersign import/);

  const elsewhere = await runImport(t, data, await newTarget(source));
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.stderr, /was interrupted and may be complete: repeat that import/);

  const again = await runImport(t, data, target);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stdout, /^Already imported and identical/);
  assert.equal(existsSync(join(data, "MOVED")), true);
  assert.equal(existsSync(join(data, "MOVING")), false);
});

test("[ours.import.interrupted] [ours.import.verified] a target with different data does not count as a completed import", async (t) => {
  const data = copyOf(source, t);
  const target = await newTarget(source);
  assert.equal((await runImport(t, data, target)).code, 0);
  renameSync(join(data, "MOVED"), join(data, "MOVING"));
  await execute(target.url, "update request set note = 'another' where status = 'denied'");
  const { code, stderr } = await runImport(t, data, target);
  assert.equal(code, 1);
  assert.match(stderr, /table request differs between source and target/);
  assert.equal(existsSync(join(data, "MOVING")), true);
});

test("[ours.import.interrupted] ended before the commit, with the folder marked, it is run again", async (t) => {
  const data = copyOf(source, t);
  const target = await newTarget(source);
  await countersign(t, ["migrate"], { env: target.env });
  // Runs at the commit, after everything was compared.
  await execute(
    target.url,
    `create function refuse() returns trigger language plpgsql as $$
     begin raise exception 'refused'; end $$`,
    `create constraint trigger refuse after insert on project deferrable initially deferred
     for each row execute function refuse()`,
  );
  const child = spawnCountersign(t, ["import", data], { env: target.env });
  assert.notEqual((await child.ends()).code, 0);
  assert.equal(existsSync(join(data, "MOVING")), true);
  await execute(target.url, "drop trigger refuse on project");
  const again = await runImport(t, data, target);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stdout, /^Imported and compared/);
});
