import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { Agent, exchange, provision } from "@countersign/testing/agents";
import { type Outcome, temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { Keyring, masterKeyId } from "../../server/src/secrets/keyring.ts";

type Environment = Readonly<Record<string, string>>;

function newKey(): string {
  return randomBytes(32).toString("base64");
}

function idOf(key: string): string {
  return masterKeyId(Buffer.from(key, "base64"));
}

/** All keys in the files of a data folder, the current one first. */
function keysIn(data: string): string[] {
  const files = ["secret.key", "secret.key.previous"].map((name) => join(data, name));
  return files.filter(existsSync).flatMap((file) => readFileSync(file, "utf8").trim().split("\n"));
}

/** Runs a command on a data folder, and asserts that it prints no key. */
async function secretKey(
  t: TestContext,
  data: string,
  words: string,
  env: Environment = {},
): Promise<Outcome> {
  const secrets = keysIn(data);
  const args = ["secret-key", ...words.split(" "), "--data", data];
  const outcome = await countersign(t, args, { env });
  secrets.push(...keysIn(data), ...Object.values(env).flatMap((value) => value.split(",")));
  for (const secret of secrets) {
    assert.equal(outcome.stdout.includes(secret), false, "stdout holds a key");
    assert.equal(outcome.stderr.includes(secret), false, "stderr holds a key");
  }
  return outcome;
}

/** An instance that was provisioned, with what a replay must return. */
interface IssuedSecrets {
  readonly provisioner: string;
  readonly provisioning: Awaited<ReturnType<typeof provision>>;
}

async function provisioned(
  t: TestContext,
  server: Server,
  env: Environment = {},
): Promise<IssuedSecrets> {
  const args = ["tokens", "create", "provisioner", "--name", "ci", "--data", server.data];
  const { stdout } = await countersign(t, args, { env });
  const provisioner = stdout.trim();
  return { provisioner, provisioning: await provision(server, provisioner, "the-key") };
}

async function assertKept(
  server: Server,
  { provisioner, provisioning }: IssuedSecrets,
): Promise<void> {
  assert.deepEqual(await provision(server, provisioner, "the-key"), provisioning);
  const other = { instance_name: "other" };
  const url = `${server.url}/v1/instances`;
  const conflict = await exchange("POST", url, provisioner, other, "the-key");
  assert.equal(conflict.status, 409, conflict.text);
  await new Agent(server.url, provisioning.credential.token).submit();
}

/** A data folder of a server that has stopped. */
async function stoppedData(t: TestContext): Promise<{ data: string; issued: IssuedSecrets }> {
  const server = await startServer(t);
  const issued = await provisioned(t, server);
  await server.stop();
  return { data: server.data, issued };
}

async function assertServes(
  t: TestContext,
  data: string,
  issued: IssuedSecrets,
  env: Environment = {},
): Promise<void> {
  const server = await startServer(t, { data, env });
  await assertKept(server, issued);
  await server.stop();
}

test("[ours.secret-key.rotate] rotate replaces the key of a stopped server's folder, which then serves as before", async (t) => {
  const { data, issued } = await stoppedData(t);
  const [old = ""] = keysIn(data);
  const { code, stdout, stderr } = await secretKey(t, data, "rotate");
  const [current = "", ...previous] = keysIn(data);
  assert.equal(code, 0, stderr);
  assert.notEqual(current, old);
  assert.deepEqual(previous, [old]);
  const output = `^The secret key is now ${idOf(current)}; secrets encrypted with it: \\d\\.\n$`;
  assert.match(stdout, new RegExp(output));
  assert.match(stderr, /Earlier backups need the old key, .*secret\.key\.previous/);
  await assertServes(t, data, issued);

  rmSync(join(data, "secret.key.previous"));
  await assertServes(t, data, issued);
});

test("[ours.secret-key.rotate] [ours.cli.json] with --json it prints the ids and counts as JSON", async (t) => {
  const { data, issued } = await stoppedData(t);
  const [old = ""] = keysIn(data);
  const { code, stdout } = await secretKey(t, data, "rotate --json");
  assert.equal(code, 0);
  assert.match(stdout, /^[^\n]+\n$/);
  const [current = ""] = keysIn(data);
  const { resealed, ...rest } = JSON.parse(stdout);
  assert.deepEqual(rest, {
    key_id: idOf(current),
    previous_key_ids: [idOf(old)],
    unopened: 0,
  });
  // A credential and the fingerprint key; and the keys of the logs that were begun.
  assert.ok(resealed >= 2, String(resealed));
  await assertServes(t, data, issued);
});

test("[ours.secret-key.files] after a rotation there are the two files of the key, readable by their owner only, and no draft", async (t) => {
  const { data } = await stoppedData(t);
  for (const _ of ["once", "and again"]) {
    assert.equal((await secretKey(t, data, "rotate")).code, 0);
    const files = readdirSync(data).filter((name) => name.startsWith("secret"));
    assert.deepEqual(files.sort(), ["secret.key", "secret.key.previous"]);
    for (const name of files) assert.equal(statSync(join(data, name)).mode & 0o777, 0o600);
  }
  assert.equal(keysIn(data).length, 3);
});

test("[ours.secret-key.rotate] beside a running server, rotation exits with 1 and changes nothing", async (t) => {
  const server = await startServer(t);
  const issued = await provisioned(t, server);
  const before = keysIn(server.data);
  const { code, stdout, stderr } = await secretKey(t, server.data, "rotate");
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^countersign: [^\n]*server is running on [^\n]*\n$/);
  assert.ok(stderr.includes(`process ${server.process.pid}`));
  assert.deepEqual(keysIn(server.data), before);
  assert.equal(existsSync(join(server.data, "secret.key.previous")), false);
  await assertKept(server, issued);
});

test("[ours.secret-key.rotate] a key from a setting exits with 1 and prints how to rotate it", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const key = newKey();
  const env = { COUNTERSIGN_SECRET_KEY: key };
  const server = await startServer(t, { data, env });
  await server.stop();
  const file = join(data, "countersign.yaml");
  writeFileSync(file, `secret_key: ${key}\n`, { mode: 0o600 });
  const outcomes = [
    await secretKey(t, data, "rotate", env),
    await secretKey(t, data, `rotate --config ${file}`),
  ];
  for (const { code, stdout, stderr } of outcomes) {
    assert.deepEqual([code, stdout], [1, ""]);
    assert.equal(stderr.includes(key), false);
    assert.match(
      stderr,
      /^countersign: [^\n]*COUNTERSIGN_SECRET_KEY_PREVIOUS[^\n]*restart[^\n]*\n$/,
    );
  }
  assert.deepEqual(keysIn(data), []);
});

test("[ours.secret-key.previous] with variables: the new key and the old one as previous, a restart, then the new one alone", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const [old, current] = [newKey(), newKey()];
  const before = { COUNTERSIGN_SECRET_KEY: old };
  const between = { COUNTERSIGN_SECRET_KEY: current, COUNTERSIGN_SECRET_KEY_PREVIOUS: old };
  const after = { COUNTERSIGN_SECRET_KEY: current };
  const server = await startServer(t, { data, env: before });
  const issued = await provisioned(t, server, before);
  // Not while the server runs that does not know the new key.
  const list = ["tokens", "list", "--data", data];
  const early = await countersign(t, list, { env: between });
  assert.equal(early.code, 1);
  assert.match(early.stderr, new RegExp(`still encrypted with key ${idOf(old)}`));
  await server.stop();

  const rotated = await startServer(t, { data, env: between });
  await assertKept(rotated, issued);
  assert.equal((await countersign(t, list, { env: between })).code, 0);
  const { stdout } = await rotated.stop();
  assert.match(
    stdout,
    new RegExp(`"secrets.resealed","key_id":"${idOf(current)}","count":\\d,"unopened":0`),
  );
  for (const key of [old, current]) assert.equal(stdout.includes(key), false);
  await assertServes(t, data, issued, after);

  const serve = ["serve", "--port", "0", "--data", data];
  const lost = await countersign(t, serve, { env: before });
  assert.equal(lost.code, 1);
  assert.match(
    lost.stderr,
    /^countersign: the secret key \(\w{8}\) differs from the key of this database[^\n]+\n$/,
  );
  assert.ok(lost.stderr.includes(idOf(current)));
});

test("[ours.secret-key.show] show names the ids of the keys and their places, also beside a running server", async (t) => {
  const { data } = await stoppedData(t);
  await secretKey(t, data, "rotate");
  await startServer(t, { data });
  const [current = "", old = ""] = keysIn(data).map(idOf);
  const [file, previous] = [join(data, "secret.key"), join(data, "secret.key.previous")];
  const { code, stdout, stderr } = await secretKey(t, data, "show");
  assert.deepEqual([code, stderr], [0, ""]);
  assert.equal(stdout, `current   ${current}  from ${file}\nprevious  ${old}  from ${previous}\n`);
  const json = await secretKey(t, data, "show --json");
  assert.match(json.stdout, /^[^\n]+\n$/);
  assert.deepEqual(JSON.parse(json.stdout), {
    key_id: current,
    source: file,
    previous: [{ key_id: old, source: previous }],
  });
});

test("[ours.secret-key.show] of keys in settings it names the setting, with or without a database", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const [old, current] = [newKey(), newKey()];
  const env = {
    COUNTERSIGN_SECRET_KEY: current,
    COUNTERSIGN_SECRET_KEY_PREVIOUS: `${old}, ${old}`,
  };
  const { code, stdout } = await secretKey(t, data, "show", env);
  assert.equal(code, 0);
  const lines = [
    `current   ${idOf(current)}  from the setting secret_key`,
    `previous  ${idOf(old)}  from the setting secret_key_previous`,
  ];
  assert.equal(stdout, `${lines.join("\n")}\n`);
  assert.equal(existsSync(data), false);
});

test("[ours.cli.exit-codes] a failed command prints one line and exits with 1, wrong usage with 2", async (t) => {
  const data = temporaryFolder(t);
  for (const words of ["show", "rotate"]) {
    const { code, stderr } = await secretKey(t, data, words);
    assert.deepEqual([code, stderr], [1, `countersign: no database found in ${data}\n`]);
  }
  assert.deepEqual(readdirSync(data), []);
  const usage = ["rotate now", "show it", `rotate --secret-key ${newKey()}`, "change"];
  for (const words of usage) {
    const { code, stdout, stderr } = await secretKey(t, data, words);
    assert.deepEqual([code, stdout], [2, ""], words);
    assert.match(stderr, /^countersign: [^\n]+\n$/);
  }
});

test("[ours.secret-key.lost] a folder that has lost its key is not rotated and gets no new one", async (t) => {
  const { data } = await stoppedData(t);
  rmSync(join(data, "secret.key"));
  for (const words of ["rotate", "show"]) {
    const { code, stderr } = await secretKey(t, data, words);
    assert.equal(code, 1);
    assert.match(stderr, /secret\.key is missing: restore the file/);
  }
  assert.deepEqual(keysIn(data), []);
});

/** Enough that a kill comes in the midst of it. */
const ROWS = 4_000;
/** Epoch milliseconds at which no retention ends. */
const MUCH_LATER = 9_000_000_000_000;

function withDatabase<T>(data: string, work: (database: DatabaseSync) => T): T {
  // A process that opens or closes the database may lock it briefly.
  const database = new DatabaseSync(join(data, "countersign.db"), { timeout: 5_000 });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

function keyringOf(data: string): Keyring {
  const [current = Buffer.alloc(0)] = keysIn(data).map((key) => Buffer.from(key, "base64"));
  return new Keyring(current);
}

function addResults(data: string): void {
  const keyring = keyringOf(data);
  withDatabase(data, (database) => {
    const columns =
      "key_hash, instance_id, encrypted_credential, created_at, project_id, scope, " +
      "fingerprint, result";
    const insert = database.prepare(
      `insert into idempotency (${columns}) values (?, ?, ?, ?, 'p', 's', '', '')`,
    );
    database.exec("begin");
    for (let n = 0; n < ROWS; n++) {
      const sealed = keyring.encrypt(`token ${n}`, `instance credential ${n}`);
      insert.run(String(n), String(n), sealed, MUCH_LATER);
    }
    database.exec("commit");
  });
}

/** Everything opens with the current key alone. */
function assertAllSealed(data: string): void {
  const keyring = keyringOf(data);
  const sql =
    "select instance_id as id, encrypted_credential as sealed from idempotency where scope = 's'";
  const rows = withDatabase(data, (database) => database.prepare(sql).all());
  assert.equal(rows.length, ROWS);
  for (const { id, sealed } of rows)
    assert.equal(keyring.decrypt(String(sealed), `instance credential ${id}`), `token ${id}`);
}

/** How far the rotation has come, seen from beside it. */
function countSealed(data: string): number {
  const sql = "select count(*) as n from idempotency where encrypted_credential like ?";
  const { keyId } = keyringOf(data);
  const row = withDatabase(data, (database) => database.prepare(sql).get(`${keyId}.%`));
  return keysIn(data).length === 1 ? 0 : Number(row?.n);
}

test("[ours.secret-key.interrupted] a killed rotation loses nothing: the next start or rotation completes it", async (t) => {
  const { data: sound, issued } = await stoppedData(t);
  addResults(sound);
  const [old = ""] = keysIn(sound);
  const kills: readonly (readonly [when: (data: string) => boolean, next: "start" | "rotate"])[] = [
    [(data) => keysIn(data).length > 1, "rotate"],
    [(data) => keysIn(data)[0] !== old, "start"],
    [(data) => countSealed(data) > 0, "start"],
    [(data) => countSealed(data) > ROWS / 2, "rotate"],
  ];
  for (const [isReached, next] of kills) {
    const data = join(temporaryFolder(t), "data");
    cpSync(sound, data, { recursive: true });
    const child = spawnCountersign(t, ["secret-key", "rotate", "--data", data]);
    await eventually("progress", () => (isReached(data) ? true : undefined));
    await child.end("SIGKILL");
    if (next === "rotate") assert.equal((await secretKey(t, data, "rotate")).code, 0);
    else await startServer(t, { data }).then((server) => server.stop());
    rmSync(join(data, "secret.key.previous"));
    assertAllSealed(data);
    await assertServes(t, data, issued);
  }
});
