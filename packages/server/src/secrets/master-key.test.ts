import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Failure } from "../failure.ts";
import { loadMasterKey } from "./master-key.ts";

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "countersign-key-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

function assertRefused(load: () => unknown): void {
  assert.throws(load, (error) => error instanceof Failure && error.dependency === "secret-key");
}

test("the first start makes a key that only its owner can read, and later starts use it", (t) => {
  const directory = folder(t);
  const key = loadMasterKey(undefined, directory, true);
  assert.equal(key.length, 32);
  assert.deepEqual(readdirSync(directory), ["secret.key"]);
  const file = join(directory, "secret.key");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, "utf8").trim(), Buffer.from(key).toString("base64"));
  assert.deepEqual(loadMasterKey(undefined, directory, true), key);
});

test("a key from the settings comes before the file and makes none", (t) => {
  const directory = folder(t);
  const key = Buffer.alloc(32, 9);
  assert.deepEqual(loadMasterKey(key.toString("base64"), directory, true), key);
  assert.deepEqual(readdirSync(directory), []);
});

test("a key that is not 32 bytes in base64 is refused, and its file never replaced", (t) => {
  const directory = folder(t);
  const file = join(directory, "secret.key");
  const wrong = ["", "secret", Buffer.alloc(31).toString("base64"), `${"A".repeat(43)}`];
  wrong.push(Buffer.alloc(33).toString("base64"), "A".repeat(64), `${"*".repeat(43)}=`);
  for (const text of wrong) {
    assertRefused(() => loadMasterKey(text, directory, true));
    writeFileSync(file, text);
    assertRefused(() => loadMasterKey(undefined, directory, true));
    assert.equal(readFileSync(file, "utf8"), text);
  }
});

test("the message about a wrong key does not repeat it", (t) => {
  const directory = folder(t);
  const error = (() => {
    try {
      return loadMasterKey("my-secret-passphrase", directory, true);
    } catch (thrown) {
      return thrown;
    }
  })();
  assert.ok(error instanceof Failure);
  assert.doesNotMatch(error.message, /passphrase/);
});

test("a missing key file is not made anew beside a database that needs the lost one", (t) => {
  const directory = folder(t);
  assert.throws(() => loadMasterKey(undefined, directory, false), /secret\.key is missing/);
  assert.deepEqual(readdirSync(directory), []);
});
