import assert from "node:assert/strict";
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Failure } from "../failure.ts";
import { createMasterKey, masterKeyId } from "./keyring.ts";
import { describeKeys, type KeySet, loadKeys, replaceKeyFile } from "./master-key.ts";

const NOT_SET = { secretKey: undefined, secretKeyPrevious: undefined };

const WRONG = [
  "",
  "secret",
  "A".repeat(43),
  "A".repeat(64),
  `${"*".repeat(43)}=`,
  ...[31, 33].map((length) => Buffer.alloc(length).toString("base64")),
];

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "countersign-key-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

function fromFiles(directory: string, mayCreate = false): KeySet {
  return loadKeys(NOT_SET, directory, mayCreate);
}

function newKey(): string {
  return Buffer.from(createMasterKey()).toString("base64");
}

function idOf(key: string): string {
  return masterKeyId(Buffer.from(key, "base64"));
}

function idsOf({ current, previous }: KeySet): string[] {
  return [current, ...previous].map(({ keyId }) => keyId);
}

function assertRefused(load: () => unknown): void {
  assert.throws(load, (error) => error instanceof Failure && error.dependency === "secret-key");
}

function messageOf(load: () => unknown): string {
  try {
    load();
  } catch (error) {
    return error instanceof Failure ? error.message : assert.fail(String(error));
  }
  return assert.fail("it was not refused");
}

test("the first start makes a key that only its owner can read, and later starts use it", (t) => {
  const directory = folder(t);
  const { current, previous } = fromFiles(directory, true);
  assert.equal(current.key.length, 32);
  assert.deepEqual(previous, []);
  assert.deepEqual(readdirSync(directory), ["secret.key"]);
  const file = join(directory, "secret.key");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, "utf8").trim(), Buffer.from(current.key).toString("base64"));
  assert.deepEqual(fromFiles(directory, true).current, current);
  assert.equal(current.source, file);
});

test("a key from the settings comes before the files and makes none", (t) => {
  const directory = folder(t);
  const secretKey = newKey();
  const { current, previous } = loadKeys({ ...NOT_SET, secretKey }, directory, true);
  assert.equal(Buffer.from(current.key).toString("base64"), secretKey);
  assert.equal(current.source, "the setting secret_key");
  assert.deepEqual(previous, []);
  assert.deepEqual(readdirSync(directory), []);

  writeFileSync(join(directory, "secret.key"), newKey());
  writeFileSync(join(directory, "secret.key.previous"), newKey());
  assert.deepEqual(idsOf(loadKeys({ ...NOT_SET, secretKey }, directory, false)), [idOf(secretKey)]);
});

test("previous keys are taken from their setting and, beside the file, from its neighbour", (t) => {
  const directory = folder(t);
  const [current, one, two, three] = [newKey(), newKey(), newKey(), newKey()];
  const secretKeyPrevious = ` ${one},${two} `;
  const set = loadKeys({ secretKey: current, secretKeyPrevious }, directory, false);
  assert.deepEqual(idsOf(set), [current, one, two].map(idOf));

  writeFileSync(join(directory, "secret.key"), `${current}\n`);
  writeFileSync(join(directory, "secret.key.previous"), `\n${two}\r\n  ${three}\n\n${current}\n`);
  assert.deepEqual(idsOf(fromFiles(directory)), [current, two, three].map(idOf));
  const both = loadKeys({ secretKey: undefined, secretKeyPrevious }, directory, false);
  assert.deepEqual(idsOf(both), [current, one, two, three].map(idOf));
});

test("a setting of previous keys that is empty names none", (t) => {
  const secrets = { secretKey: newKey(), secretKeyPrevious: " " };
  assert.deepEqual(loadKeys(secrets, folder(t), false).previous, []);
});

test("a key that is not 32 bytes in base64 is rejected, and its file stays unchanged", (t) => {
  const directory = folder(t);
  const file = join(directory, "secret.key");
  for (const secretKey of WRONG) {
    assertRefused(() => loadKeys({ ...NOT_SET, secretKey }, directory, true));
    writeFileSync(file, secretKey);
    assertRefused(() => fromFiles(directory, true));
    assertRefused(() => replaceKeyFile(directory));
    assert.equal(readFileSync(file, "utf8"), secretKey);
    assert.deepEqual(readdirSync(directory), ["secret.key"]);
  }
});

test("a malformed line of previous keys is rejected with its number", (t) => {
  const directory = folder(t);
  const file = join(directory, "secret.key");
  const previous = join(directory, "secret.key.previous");
  const [current, good] = [newKey(), newKey()];
  writeFileSync(file, current);
  for (const line of WRONG.slice(1)) {
    writeFileSync(previous, `${good}\n\n${line}\n`);
    const pattern = /secret\.key\.previous, line 3, must be 32 bytes in base64$/;
    assert.match(
      messageOf(() => fromFiles(directory)),
      pattern,
    );
    assertRefused(() => replaceKeyFile(directory));
    assert.equal(readFileSync(file, "utf8"), current);
  }
  for (const list of [`${good},`, `${good},,${good}`, `${good};${good}`, ...WRONG.slice(1)]) {
    const secrets = { secretKey: current, secretKeyPrevious: list };
    const pattern = /secret_key_previous, key [12], must be 32 bytes in base64$/;
    assert.match(
      messageOf(() => loadKeys(secrets, directory, false)),
      pattern,
    );
  }
});

test("the message about a wrong key does not repeat it", (t) => {
  const directory = folder(t);
  const wrong = "my-secret-passphrase";
  writeFileSync(join(directory, "secret.key"), newKey());
  writeFileSync(join(directory, "secret.key.previous"), wrong);
  const loads = [
    () => loadKeys({ ...NOT_SET, secretKey: wrong }, directory, true),
    () => loadKeys({ secretKey: newKey(), secretKeyPrevious: wrong }, directory, true),
    () => fromFiles(directory),
  ];
  for (const load of loads) assert.doesNotMatch(messageOf(load), /passphrase/);
});

test("a missing key file is not made anew beside a database that needs the lost one", (t) => {
  const directory = folder(t);
  assert.match(
    messageOf(() => fromFiles(directory)),
    /secret\.key is missing: restore/,
  );
  assertRefused(() => replaceKeyFile(directory));
  assert.deepEqual(readdirSync(directory), []);
});

test("[ours.secret-key.files] a replaced key file leaves its key among the previous ones, readable by the owner only", (t) => {
  const directory = folder(t);
  const keys = [fromFiles(directory, true).current.keyId];
  for (const round of [1, 2]) {
    replaceKeyFile(directory);
    const [current = "", ...previous] = idsOf(fromFiles(directory));
    assert.equal(new Set([current, ...keys]).size, round + 1);
    assert.deepEqual(previous, keys);
    keys.push(current);
    assert.deepEqual(readdirSync(directory).sort(), ["secret.key", "secret.key.previous"]);
    for (const name of readdirSync(directory))
      assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600);
  }
});

test("[ours.secret-key.files] the key files keep their owner, also when root replaces them", (t) => {
  const directory = folder(t);
  fromFiles(directory, true);
  const file = join(directory, "secret.key");
  if (process.getuid?.() === 0) chownSync(file, 12_345, 54_321);
  const { uid, gid } = statSync(file);
  replaceKeyFile(directory);
  for (const name of ["secret.key", "secret.key.previous"]) {
    const made = statSync(join(directory, name));
    assert.deepEqual([made.uid, made.gid], [uid, gid]);
  }
});

/** Makes the next replacement of a file fail, as a full disk would. */
function obstruct(file: string): () => void {
  mkdirSync(join(`${file}.draft`, "in the way"), { recursive: true });
  return () => rmSync(`${file}.draft`, { recursive: true });
}

test("[ours.secret-key.interrupted] a replacement that is interrupted between the files has lost no key, and is repeated", (t) => {
  const directory = folder(t);
  const before = fromFiles(directory, true).current.keyId;
  const free = obstruct(join(directory, "secret.key"));
  assert.throws(() => replaceKeyFile(directory));
  assert.deepEqual(idsOf(fromFiles(directory)), [before]);
  const line = readFileSync(join(directory, "secret.key.previous"), "utf8");
  assert.equal(idOf(line.trim()), before);

  free();
  // The draft of a process that was killed during the write.
  writeFileSync(join(directory, "secret.key.draft"), "half a k");
  replaceKeyFile(directory);
  assert.deepEqual(idsOf(fromFiles(directory)).slice(1), [before]);
  assert.equal(readFileSync(join(directory, "secret.key.previous"), "utf8"), line);
  assert.deepEqual(readdirSync(directory).sort(), ["secret.key", "secret.key.previous"]);
});

test("[ours.secret-key.interrupted] the key is not replaced before it is among the previous ones", (t) => {
  const directory = folder(t);
  fromFiles(directory, true);
  const text = readFileSync(join(directory, "secret.key"), "utf8");
  obstruct(join(directory, "secret.key.previous"));
  assert.throws(() => replaceKeyFile(directory));
  assert.equal(readFileSync(join(directory, "secret.key"), "utf8"), text);
});

test("[ours.secret-key.show] the description of keys holds ids and sources and no key", (t) => {
  const directory = folder(t);
  fromFiles(directory, true);
  replaceKeyFile(directory);
  const secrets = { secretKey: undefined, secretKeyPrevious: newKey() };
  const described = describeKeys(secrets, directory);
  const { current, previous } = loadKeys(secrets, directory, false);
  const shown = [current, ...previous].map(({ keyId, source }) => ({ keyId, source }));
  assert.deepEqual([described.current, ...described.previous], shown);
});

test("[ours.secret-key.closed] a secret.key that others can read is closed to them when it is read", (t) => {
  const directory = folder(t);
  const file = join(directory, "secret.key");
  writeFileSync(file, newKey(), { mode: 0o644 });
  const warn = t.mock.method(process, "emitWarning", () => {});
  fromFiles(directory);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(
    String(warn.mock.calls[0]?.arguments[0]),
    /was accessible to other users \(mode 644\)/,
  );
  fromFiles(directory);
  assert.equal(warn.mock.callCount(), 1);
});
