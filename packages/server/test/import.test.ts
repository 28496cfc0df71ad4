import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { exchange } from "@countersign/testing/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { countersign, startServer } from "@countersign/testing/countersign";
import { Client } from "pg";
import {
  assertImported,
  copyOf,
  decide,
  makeSource,
  newTarget,
  runImport,
  type Target,
  tamperWith,
} from "./support/imports.ts";
import { KNOWN } from "./support/later-migrations.ts";
import { execute } from "./support/postgres.ts";
import { newKey } from "./support/provisionings.ts";

const source = await makeSource(fileOwner());

/** Rows of all tables together, those that migrations fill aside; undefined without tables. */
async function rowsIn({ url }: Target): Promise<number | undefined> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query(
      "select table_name as name from information_schema.tables where table_schema = 'public'",
    );
    const names = tables.map(({ name }) => name).filter((name) => !FILLED.includes(name));
    if (names.length === 0) return undefined;
    const counts = names.map((name) => `(select count(*) from "${name}")`);
    const { rows } = await client.query(`select ${counts.join(" + ")} as n`);
    return Number(rows[0].n);
  } finally {
    await client.end();
  }
}

const FILLED = ["health", "schema_version"];

test("[ours.import.whole] replicas serve an imported database with rows in every table unchanged", async (t) => {
  const data = copyOf(source, t);
  const target = await newTarget(source);
  const { code, stdout, stderr } = await runImport(t, data, target, "--json");
  assert.deepEqual([code, stderr], [0, ""]);
  const { tables, sha256 } = JSON.parse(stdout);
  assert.match(sha256, /^[0-9a-f]{64}$/);
  for (const [table, rows] of Object.entries(tables)) {
    assert.ok(Number(rows) > 0, `nothing was imported of ${table}`);
  }
  const sum = Object.values(tables).reduce((a: number, b) => a + Number(b), 0);
  // And the entry that says so.
  assert.equal(await rowsIn(target), sum + 1);

  const { env } = target;
  const servers = [await startServer(t, { env }), await startServer(t, { env })];
  for (const server of servers) await assertImported(server, source);
  const pending = source.requests.get("pending")?.id ?? "";
  for (const [index, server] of servers.entries()) {
    if (index === 0) await decide(server, source.reviewer, pending, "approve");
    assert.equal((await source.agent.at(server).read(pending)).status, "approved");
  }
});

test("[ours.import.whole] a backup is imported like a folder, with the key that belongs to it", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "copy.db");
  const backup = await countersign(t, ["backup", file, "--data", copyOf(source, t)]);
  assert.equal(backup.code, 0);
  const target = await newTarget(source);
  const { code, stdout, stderr } = await runImport(t, file, target);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Imported and compared: \d+ rows of \d+ tables at postgres:\/\/127/);
  assert.match(stderr, /start the replicas with COUNTERSIGN_DATABASE_URL/);
  await assertImported(await startServer(t, { env: target.env }), source);
});

test("[ours.import.verified] a copy that is not the same is not committed, exit code 1", async (t) => {
  const data = copyOf(source, t);
  const target = await newTarget(source);
  assert.equal((await countersign(t, ["migrate"], { env: target.env })).code, 0);
  await execute(
    target.url,
    `create function change() returns trigger language plpgsql as $$
     begin new.note := replace(new.note, 'é', 'e'); return new; end $$`,
    "create trigger change before insert on request for each row execute function change()",
  );
  const { code, stdout, stderr } = await runImport(t, data, target);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /table request differs between source and target: 5 rows \w{64} in the source/,
  );
  assert.equal(await rowsIn(target), 0);
  await (await startServer(t, { data })).stop();

  await execute(target.url, "drop trigger change on request");
  assert.equal((await runImport(t, data, target)).code, 0);
});

test("[ours.import.verified] a row that the target drops is missed", async (t) => {
  const target = await newTarget(source);
  await countersign(t, ["migrate"], { env: target.env });
  await execute(
    target.url,
    `create function lose() returns trigger language plpgsql as $$
     begin if new.kind = 'request.opened' then return null; end if; return new; end $$`,
    "create trigger lose before insert on audit_entry for each row execute function lose()",
  );
  const { code, stderr } = await runImport(t, copyOf(source, t), target);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^countersign: table audit_entry took \d+ of \d+ rows\n$/);
  assert.equal(await rowsIn(target), 0);
});

test("[ours.import.refused] an invalid import prints one line and changes nothing", async (t) => {
  const target = await newTarget(source);
  const { env } = target;
  const folder = temporaryFolder(t);
  const text = join(folder, "text.db");
  writeFileSync(text, "no database ".repeat(1000));
  const other = join(folder, "other.db");
  writeFileSync(other, "");
  const older = copyOf(source, t);
  tamperWith(older, `update schema_version set version = ${KNOWN - 1}`);
  const newer = copyOf(source, t);
  tamperWith(newer, `update schema_version set version = ${KNOWN + 1}`);
  const unreachable = { ...env, COUNTERSIGN_DATABASE_URL: "postgres://me:s3cret@127.0.0.1:1/no" };
  const { COUNTERSIGN_DATABASE_URL: _, ...without } = env;
  const { data } = source;
  const cases = [
    {
      args: [data],
      env: without,
      code: 2,
      says: /set COUNTERSIGN_DATABASE_URL to the target Postgre/,
    },
    { args: [], env, code: 2, says: /the data folder or database file to import is missing/ },
    { args: [data, data], env, code: 2, says: /unexpected argument/ },
    { args: [join(folder, "nothing")], env, code: 1, says: /no database found at / },
    { args: [folder], env, code: 1, says: /no database found at / },
    { args: [text], env, code: 1, says: /cannot be read: file is not a database/ },
    { args: [other], env, code: 1, says: /is not a Countersign database/ },
    { args: [older], env, code: 1, says: /run countersign migrate --data \S+ first/ },
    { args: [newer], env, code: 1, says: /use the countersign version that served it/ },
    { args: [data], env: unreachable, code: 1, says: /cannot be used: connect ECONNREFUSED/ },
  ];
  for (const { args, env: given, code, says } of cases) {
    const outcome = await countersign(t, ["import", ...args], { env: given });
    assert.deepEqual([outcome.code, outcome.stdout], [code, ""], outcome.stderr);
    assert.match(outcome.stderr, says);
    assert.doesNotMatch(outcome.stderr, /s3cret|\n.*\n/);
  }
  assert.equal(await rowsIn(target), undefined);
});

test("[ours.import.refused] beside a running server nothing is imported", async (t) => {
  const target = await newTarget(source);
  const server = await startServer(t, { data: copyOf(source, t) });
  const { code, stderr } = await runImport(t, server.data, target);
  assert.equal(code, 1);
  assert.match(stderr, /^countersign: another server is running on [^\n]+\n$/);
  assert.equal(await rowsIn(target), undefined);
  assert.equal((await exchange("GET", `${server.url}/readyz`)).status, 200);
});

test("[ours.import.refused] a target that is not empty is rejected with its content", async (t) => {
  const data = copyOf(source, t);
  const target = await newTarget(source);
  await (await startServer(t, { env: target.env })).stop();
  const before = await rowsIn(target);
  const { code, stderr } = await runImport(t, data, target);
  assert.equal(code, 1);
  assert.match(stderr, /is not empty \(secret_key: 1 row\): use a new database/);
  assert.equal(await rowsIn(target), before);
  await (await startServer(t, { data })).stop();
});

test("[ours.import.key] without the encryption key of the data nothing is copied, and the error states the fix", async (t) => {
  const data = copyOf(source, t);
  const target = await newTarget(source);
  const { COUNTERSIGN_SECRET_KEY: _, ...none } = target.env;
  const wrong = { ...target.env, COUNTERSIGN_SECRET_KEY: newKey() };
  const says = [/no secret key is set: .*/, /is encrypted with key \w{8}, not with \w{8}: .*/];
  for (const [index, env] of [none, wrong].entries()) {
    const { code, stderr } = await countersign(t, ["import", data], {
      env,
      cwd: temporaryFolder(t),
    });
    assert.equal(code, 1);
    assert.match(stderr, says[index] as RegExp);
    const file = join(data, "secret.key");
    assert.ok(stderr.includes(`export COUNTERSIGN_SECRET_KEY="$(cat ${file})"`), stderr);
    for (const key of [source.key, wrong.COUNTERSIGN_SECRET_KEY]) {
      assert.equal(stderr.includes(key), false);
    }
  }
  assert.equal(await rowsIn(target), undefined);
  assert.equal((await runImport(t, data, target)).code, 0);
});

test("[ours.import.once] a folder that was moved is not served, not written to and not imported again", async (t) => {
  const data = copyOf(source, t);
  assert.equal((await runImport(t, data, await newTarget(source))).code, 0);
  assert.equal(existsSync(join(data, "MOVED")), true);
  assert.equal(existsSync(join(data, "MOVING")), false);
  const serve = ["serve", "--port", "0", "--data", data];
  const tokens = ["tokens", "list", "--data", data];
  const rotate = ["secret-key", "rotate", "--data", data];
  for (const args of [serve, tokens, rotate]) {
    const { code, stderr } = await countersign(t, args);
    assert.equal(code, 1);
    assert.match(stderr, /was moved to PostgreSQL: .* in \S+MOVED; .* decide requests twice\n$/);
  }
  const other = await newTarget(source);
  const { code, stderr } = await runImport(t, data, other);
  assert.equal(code, 1);
  assert.match(stderr, /was already moved/);
  assert.equal(await rowsIn(other), undefined);
});
