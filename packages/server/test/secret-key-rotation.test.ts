import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemClock, systemRandom } from "../src/clock.ts";
import {
  databaseFile,
  Failure,
  openContext,
  Report,
  readConfig,
  rotateSecretKey,
  toSecrets,
  toSettings,
} from "../src/index.ts";
import { adoptSecretKey } from "../src/operations/operate/adoptSecretKey.ts";
import { Keyring } from "../src/secrets/keyring.ts";
import { replaceKeyFile } from "../src/secrets/master-key.ts";
import { SqliteStore } from "../src/storage/sqlite/sqlite-store.ts";
import type { Store, Transaction } from "../src/storage/store.ts";
import { testOnly } from "./support/engine.ts";
import {
  assertAccepted,
  assertKept,
  dataFolder,
  idOf,
  type KeySettings,
  keyIdsIn,
  newKey,
  type Provisioned,
  provisionAndRename,
  query,
  serving,
} from "./support/provisionings.ts";

const test = testOnly("sqlite", "replicas have their key from a setting");

function configOf(data: string, keys: KeySettings = {}) {
  const config = readConfig({ data, ...keys }, {});
  return [toSettings(config), toSecrets(config)] as const;
}

function keyringOf(current: string, ...previous: readonly string[]): Keyring {
  const decode = (key: string) => Buffer.from(key, "base64");
  return new Keyring(decode(current), previous.map(decode));
}

function keyFile(data: string): string {
  return readFileSync(join(data, "secret.key"), "utf8").trim();
}

/** Gives an instance a receiver with a signing secret, as a verification would. */
function addReceiver(
  data: string,
  keyring: Keyring,
  { provisioning }: Provisioned,
  secret: string,
): void {
  const { id } = provisioning.instance;
  const sealed = keyring.encrypt(secret, `signing secret ${id}`);
  const columns = "project_id, instance_id, url, registration_id, encrypted_secret, verified_at";
  const values = "select project_id, id, 'https://a.test/', 'r', ?, 0 from instance where id = ?";
  query(data, `insert into receiver (${columns}) ${values}`, sealed, id);
}

function signingSecret(data: string, keyring: Keyring, { provisioning }: Provisioned): string {
  const [row] = query(data, "select encrypted_secret as sealed from receiver");
  const { sealed } = row as { sealed: string };
  return keyring.decrypt(sealed, `signing secret ${provisioning.instance.id}`);
}

/** Refused with these words, and not a byte of the database changed. */
async function assertRefused(
  t: TestContext,
  data: string,
  keys: KeySettings,
  says: RegExp,
): Promise<void> {
  const before = readFileSync(databaseFile(data));
  await assert.rejects(
    serving(t, data, keys, () => {}),
    (error) =>
      error instanceof Failure && error.dependency === "secret-key" && says.test(error.message),
  );
  assert.ok(readFileSync(databaseFile(data)).equals(before), "the database was changed");
}

test("[ours.secret-key.rotation] after two rotations of the key file replays return what they did, changed input conflicts and credentials work", async (t) => {
  const data = dataFolder(t);
  const provisioned = await serving(t, data, {}, (server) => provisionAndRename(server));
  const first = keyFile(data);
  const one = await rotateSecretKey(...configOf(data));
  const second = keyFile(data);
  assert.deepEqual([one.keyId, one.previousKeyIds], [idOf(second), [idOf(first)]]);
  assert.deepEqual(keyIdsIn(data), [idOf(second)]);
  const more = await serving(t, data, {}, async (server) => {
    await assertKept(server, provisioned);
    return provisionAndRename(server, "two");
  });
  const two = await rotateSecretKey(...configOf(data));
  assert.deepEqual(two.previousKeyIds, [idOf(first), idOf(second)]);
  assert.deepEqual(keyIdsIn(data), [two.keyId]);
  await serving(t, data, {}, async (server) => {
    await assertKept(server, provisioned);
    await assertKept(server, more, "two");
  });
});

test("[ours.secret-key.previous] a start with a new key and the old one as previous reencrypts everything, and the old one can go", async (t) => {
  const [data, old, current] = [dataFolder(t), newKey(), newKey()];
  const provisioned = await serving(t, data, { secret_key: old }, (server) =>
    provisionAndRename(server),
  );
  addReceiver(data, keyringOf(old), provisioned, "whsec_a");
  const rotated = { secret_key: current, secret_key_previous: `${newKey()},${old}` };
  await serving(t, data, rotated, (server) => assertKept(server, provisioned));
  assert.deepEqual(keyIdsIn(data), [idOf(current)]);
  assert.equal(signingSecret(data, keyringOf(current), provisioned), "whsec_a");
  await serving(t, data, { secret_key: current }, (server) => assertKept(server, provisioned));
  const says = new RegExp(
    `${idOf(old)}.* differs from the key of this database .*${idOf(current)}`,
  );
  await assertRefused(t, data, { secret_key: old }, says);
});

test("[ours.secret-key.previous] a secret encrypted with a previous key after the rotation is found at the next start", async (t) => {
  const [data, old, current] = [dataFolder(t), newKey(), newKey()];
  const both = { secret_key: current, secret_key_previous: old };
  const provisioned = await serving(t, data, both, (server) => provisionAndRename(server));
  addReceiver(data, keyringOf(old), provisioned, "whsec_late");
  await serving(t, data, both, () => {});
  assert.equal(signingSecret(data, keyringOf(current), provisioned), "whsec_late");
});

test("[ours.secret-key.previous] a key moves from the file to a setting and back", async (t) => {
  const [data, key] = [dataFolder(t), newKey()];
  const provisioned = await serving(t, data, {}, (server) => provisionAndRename(server));
  const settings = { secret_key: key, secret_key_previous: keyFile(data) };
  await serving(t, data, settings, (server) => assertKept(server, provisioned));
  await serving(t, data, { secret_key_previous: key }, (server) => assertKept(server, provisioned));
  await serving(t, data, {}, (server) => assertKept(server, provisioned));
});

test("[ours.secret-key.previous] a copy of before the rotation is served with the key of then among the previous ones", async (t) => {
  const data = dataFolder(t);
  const provisioned = await serving(t, data, {}, (server) => provisionAndRename(server));
  const copy = join(dataFolder(t), "copy.db");
  cpSync(databaseFile(data), copy);
  await rotateSecretKey(...configOf(data));
  cpSync(copy, databaseFile(data));
  await serving(t, data, {}, (server) => assertKept(server, provisioned));
});

test("[ours.secret-key.previous] the log says what was reencrypted, once, and holds no key", async (t) => {
  const [data, old, current] = [dataFolder(t), newKey(), newKey()];
  await serving(t, data, { secret_key: old }, (server) => provisionAndRename(server));
  const keys = { secret_key: current, secret_key_previous: old };
  const lines: string[] = [];
  for (const _ of ["the rotation", "a later start"]) {
    const report = new Report("debug", { write: (line) => void lines.push(line) });
    await serving(t, data, keys, () => {}, { report });
  }
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const resealed = entries.filter(({ event }) => event === "secrets.resealed");
  assert.deepEqual(
    resealed.map(({ level, key_id, unopened }) => [level, key_id, unopened]),
    [["info", idOf(current), 0]],
  );
  // And the keys of the logs, where they were begun.
  assert.ok(Number(resealed[0]?.count) >= 2);
  for (const key of [old, current]) assert.equal(lines.join("").includes(key), false);
});

/** Enough for several transactions. */
const ROWS = 450;
/** Epoch milliseconds at which no retention ends. */
const MUCH_LATER = 9_000_000_000_000;

function addResults(data: string, keyring: Keyring): void {
  for (let n = 0; n < ROWS; n++) {
    const sealed = keyring.encrypt(`token ${n}`, `instance credential row-${n}`);
    const columns =
      "key_hash, instance_id, encrypted_credential, created_at, project_id, scope, " +
      "fingerprint, result";
    const sql = `insert into idempotency (${columns}) values (?, ?, ?, ?, 'p', 's', '', '')`;
    query(data, sql, n, `row-${n}`, sealed, MUCH_LATER);
  }
}

/** A store whose process is gone after a number of transactions. */
class EndingStore implements Store {
  readonly isExclusive = false;
  readonly integrity: Store["integrity"];
  readonly search: Store["search"];
  readonly #store: Store;
  #left: number;

  constructor(store: Store, transactions: number) {
    this.integrity = store.integrity;
    this.search = store.search;
    this.#store = store;
    this.#left = transactions;
  }

  get = (...query: Parameters<Store["get"]>) => this.#store.get(...query);
  getMany = (...query: Parameters<Store["getMany"]>) => this.#store.getMany(...query);
  all = (...query: Parameters<Store["all"]>) => this.#store.all(...query);
  check = () => this.#store.check();
  close = () => this.#store.close();

  transactExclusive<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transact(work);
  }

  transactBatched<T>(_: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transact(work);
  }

  transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (this.#left-- === 0) return Promise.reject(new Failure("store", "killed"));
    return this.#store.transact(work);
  }
}

/** @returns whether the rotation came to its end within so many transactions */
async function rotateUntil(data: string, keyring: Keyring, transactions: number): Promise<boolean> {
  const store = new SqliteStore(databaseFile(data), systemClock);
  try {
    const random = systemRandom();
    const ending = new EndingStore(store, transactions);
    await adoptSecretKey({ store: ending, keyring, random }, true);
    return true;
  } catch (error) {
    assert.match(String(error), /killed/);
    return false;
  } finally {
    await store.close();
  }
}

test("[ours.secret-key.interrupted] the next start completes a rotation interrupted after any transaction; the old key alone is rejected or still works", async (t) => {
  const [sound, old, current] = [dataFolder(t), newKey(), newKey()];
  const provisioned = await serving(t, sound, { secret_key: old }, (server) =>
    provisionAndRename(server),
  );
  addReceiver(sound, keyringOf(old), provisioned, "whsec_a");
  addResults(sound, keyringOf(old));
  const fits: boolean[] = [];
  for (let transactions = 1, ended = false; !ended; transactions++) {
    const data = join(dataFolder(t), "data");
    cpSync(sound, data, { recursive: true });
    ended = await rotateUntil(data, keyringOf(current, old), transactions);
    const copy = join(dataFolder(t), "data");
    cpSync(data, copy, { recursive: true });
    const back = serving(t, copy, { secret_key: old }, (server) => assertKept(server, provisioned));
    fits.push(await back.then(() => true).catch(isRefused));

    const both = { secret_key: current, secret_key_previous: old };
    await serving(t, data, both, (server) => assertKept(server, provisioned));
    assert.deepEqual(keyIdsIn(data), [idOf(current)]);
    await serving(t, data, { secret_key: current }, (server) => assertKept(server, provisioned));
    assertAllOpen(data, keyringOf(current));
    assert.equal(signingSecret(data, keyringOf(current), provisioned), "whsec_a");
  }
  // Adopted; fingerprint key; row key; three times results; receivers; channels; schedules;
  // browsers; their key; logs; the id: as soon as anything is encrypted with the new key, the old
  // one alone is refused.
  assert.deepEqual(fits, [true, ...Array.from({ length: 12 }, () => false)]);
});

function isRefused(error: unknown): false {
  assert.ok(error instanceof Failure && error.dependency === "secret-key", String(error));
  return false;
}

function assertAllOpen(data: string, keyring: Keyring): void {
  const sql = "select instance_id, encrypted_credential from idempotency where scope = 's'";
  const rows = query(data, sql) as { instance_id: string; encrypted_credential: string }[];
  assert.equal(rows.length, ROWS);
  for (const { instance_id: id, encrypted_credential: sealed } of rows) {
    const expected = id.replace("row-", "token ");
    assert.equal(keyring.decrypt(sealed, `instance credential ${id}`), expected);
  }
}

test("[ours.secret-key.interrupted] a rotation that ends between its files or before the database is finished by a start or another rotation", async (t) => {
  const sound = dataFolder(t);
  const provisioned = await serving(t, sound, {}, (server) => provisionAndRename(server));
  const steps: Readonly<Record<string, (data: string) => void>> = {
    "the old key is among the previous ones": (data) =>
      writeFileSync(join(data, "secret.key.previous"), `${keyFile(data)}\n`),
    "the new key is in its place": replaceKeyFile,
    "another one has followed it": (data) => {
      replaceKeyFile(data);
      replaceKeyFile(data);
    },
  };
  for (const [what, step] of Object.entries(steps)) {
    for (const next of ["start", "rotation"]) {
      const data = join(dataFolder(t), "data");
      cpSync(sound, data, { recursive: true });
      step(data);
      if (next === "rotation") await rotateSecretKey(...configOf(data));
      await serving(t, data, {}, (server) => assertKept(server, provisioned));
      assert.deepEqual(keyIdsIn(data), [idOf(keyFile(data))], `${what}, then a ${next}`);
    }
  }
});

test("[ours.secret-key.interrupted] a command beside the server does not finish the rotation, because the server may not know the new key", async (t) => {
  const [data, old, current] = [dataFolder(t), newKey(), newKey()];
  const both = { secret_key: current, secret_key_previous: old };
  await serving(t, data, { secret_key: old }, async (server) => {
    const provisioned = await provisionAndRename(server);
    const says = new RegExp(`still encrypted with key ${idOf(old)}.*start the server`);
    await assert.rejects(openContext(...configOf(data, both)), says);
    await assertKept(server, provisioned);
  });
  assert.deepEqual(keyIdsIn(data), [idOf(old)]);
  await serving(t, data, both, async () => {
    await (await openContext(...configOf(data, both))).close();
  });
});

test("[ours.secret-key.lost] without the key of the database, the server does not start, and names the key", async (t) => {
  const [data, key, other, another] = [dataFolder(t), newKey(), newKey(), newKey()];
  await serving(t, data, { secret_key: key }, (server) => provisionAndRename(server));
  const needed = new RegExp(
    `\\(${idOf(other)}\\) differs from the key of this database \\(${idOf(key)}\\)`,
  );
  await assertRefused(t, data, { secret_key: other }, needed);
  const previous = { secret_key: other, secret_key_previous: another };
  await assertRefused(t, data, previous, needed);
  await assertRefused(t, data, previous, new RegExp(`previous one \\(${idOf(another)}\\)`));
});

test("[ours.secret-key.lost] nothing is rotated where the old key does not fit", async (t) => {
  const data = dataFolder(t);
  await serving(t, data, { secret_key: newKey() }, (server) => provisionAndRename(server));
  const wrong = newKey();
  writeFileSync(join(data, "secret.key"), wrong);
  await assert.rejects(rotateSecretKey(...configOf(data)), /differs from the key of this database/);
  assert.equal(keyFile(data), wrong);
});

test("[ours.secret-key.waiting] a secret with a missing key is kept unchanged, blocks no other, and works when the key is back", async (t) => {
  const [data, lost, old, current] = [dataFolder(t), newKey(), newKey(), newKey()];
  const provisioned = await serving(t, data, { secret_key: old }, async (server) => ({
    one: await provisionAndRename(server, "one"),
    two: await provisionAndRename(server, "two"),
  }));
  const { instance, credential } = provisioned.two.provisioning;
  const sealed = keyringOf(lost).encrypt(credential.token, `instance credential ${instance.id}`);
  const update = "update idempotency set encrypted_credential = ? where instance_id = ?";
  query(data, `${update} and encrypted_credential is not null`, sealed, instance.id);
  addResults(data, keyringOf(lost));

  const keys = { secret_key: current, secret_key_previous: old };
  await serving(t, data, keys, async (server) => {
    await assertKept(server, provisioned.one);
    const body = { instance_name: "first" };
    const call = { token: provisioned.two.provisioner, key: "two", body };
    assert.equal((await server.call("POST", "/v1/instances", call)).status, 503);
    await assertAccepted(server, credential.token);
  });
  const found = { secret_key: current, secret_key_previous: `${old},${lost}` };
  await serving(t, data, found, (server) => assertKept(server, provisioned.two, "two"));
  await serving(t, data, { secret_key: current }, (server) =>
    assertKept(server, provisioned.two, "two"),
  );
});

test("[ours.secret-key.rotate] rotation is rejected beside a running server, and for a key from the settings", async (t) => {
  const data = dataFolder(t);
  await serving(t, data, {}, async (server) => {
    const provisioned = await provisionAndRename(server);
    const before = keyFile(data);
    await assert.rejects(rotateSecretKey(...configOf(data)), /server is running/);
    const set = configOf(data, { secret_key: newKey() });
    await assert.rejects(rotateSecretKey(...set), /COUNTERSIGN_SECRET_KEY_PREVIOUS/);
    assert.equal(keyFile(data), before);
    await assertKept(server, provisioned);
  });
});
