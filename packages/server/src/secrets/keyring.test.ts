import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import { sha256Hex } from "../core/digest.ts";
import { Failure } from "../failure.ts";
import {
  createFingerprintKey,
  createMasterKey,
  hashIdempotencyKey,
  hashRequestKey,
  Keyring,
  keyIdOf,
  masterKeyId,
} from "./keyring.ts";

const keyring = new Keyring(new Uint8Array(32).fill(7));
const SECRET = "cs_inst_é😀\0 secret";

function assertUndecryptable(open: () => unknown): void {
  assert.throws(open, (error) => error instanceof Failure && error.dependency === "secret-key");
}

test("an encrypted text decrypts in its context", () => {
  for (const secret of ["", SECRET, "x".repeat(10_000)]) {
    assert.equal(keyring.decrypt(keyring.encrypt(secret, "row 1"), "row 1"), secret);
  }
  const again = new Keyring(new Uint8Array(32).fill(7));
  assert.equal(again.decrypt(keyring.encrypt(SECRET, "row 1"), "row 1"), SECRET);
});

test("an encrypted text reveals nothing and is never the same twice", () => {
  const encrypted = [1, 2, 3].map(() => keyring.encrypt(SECRET, "row 1"));
  assert.equal(new Set(encrypted).size, 3);
  for (const text of encrypted) {
    assert.match(text, new RegExp(`^${keyring.keyId}\\.[A-Za-z0-9_-]+$`));
    const [, encoded = ""] = text.split(".");
    assert.equal(Buffer.from(encoded, "base64url").includes("secret"), false);
  }
});

test("an encrypted text does not decrypt in another context", () => {
  const encrypted = keyring.encrypt(SECRET, "row 1");
  for (const context of ["row 2", "row 1 ", ""])
    assertUndecryptable(() => keyring.decrypt(encrypted, context));
});

test("an encrypted text with one altered byte does not decrypt", () => {
  const [keyId = "", encoded = ""] = keyring.encrypt(SECRET, "row 1").split(".");
  const bytes = Buffer.from(encoded, "base64url");
  for (let i = 0; i < bytes.length; i++) {
    const altered = Buffer.from(bytes);
    altered[i] = (altered[i] ?? 0) ^ 1;
    assertUndecryptable(() =>
      keyring.decrypt(`${keyId}.${altered.toString("base64url")}`, "row 1"),
    );
  }
  const rests = ["", "AAAA", bytes.subarray(0, -1).toString("base64url")];
  for (const rest of rests) assertUndecryptable(() => keyring.decrypt(`${keyId}.${rest}`, "row 1"));
});

test("a signing secret opens as the key that it holds, the first time and later", () => {
  const [one, other] = [7, 9].map((byte) => Buffer.alloc(32, byte));
  assert.ok(one && other);
  const encrypted = keyring.encrypt(`whsec_${one.toString("base64")}`, "row 1");
  const replaced = keyring.encrypt(`whsec_${other.toString("base64")}`, "row 1");
  for (const _ of [1, 2]) {
    assert.ok(keyring.decryptSigningKey(encrypted, "row 1").equals(createSecretKey(one)));
    assert.ok(keyring.decryptSigningKey(replaced, "row 1").equals(createSecretKey(other)));
    assertUndecryptable(() => keyring.decryptSigningKey(encrypted, "row 2"));
    assertUndecryptable(() => keyring.decryptSigningKey(keyring.encrypt(SECRET, "row 1"), "row 1"));
  }
});

test("another key does not decrypt it, even when the text names its id", () => {
  const other = new Keyring(createMasterKey());
  const encrypted = keyring.encrypt(SECRET, "row 1");
  assert.notEqual(other.keyId, keyring.keyId);
  assertUndecryptable(() => other.decrypt(encrypted, "row 1"));
  assertUndecryptable(() => other.decrypt(encrypted.replace(keyring.keyId, other.keyId), "row 1"));
  assertUndecryptable(() => keyring.decrypt("not encrypted", "row 1"));
});

test("[ours.secret-key.rotation] a keyring seals with the current key and opens with the one that the text names", () => {
  const [first, second, third] = [createMasterKey(), createMasterKey(), createMasterKey()];
  const encrypted = [first, second, third].map((key) => new Keyring(key).encrypt(SECRET, "row 1"));
  const rotated = new Keyring(third, [first, second]);
  for (const text of encrypted) assert.equal(rotated.decrypt(text, "row 1"), SECRET);
  const [mine, theirs] = [rotated.encrypt(SECRET, "row 1"), new Keyring(third, [first])];
  assert.equal(keyIdOf(mine), masterKeyId(third));
  assert.equal(new Keyring(third).decrypt(mine, "row 1"), SECRET);
  for (const each of [new Keyring(first, [second]), new Keyring(second)])
    assertUndecryptable(() => each.decrypt(mine, "row 1"));
  assertUndecryptable(() => theirs.decrypt(encrypted[1] ?? "", "row 1"));
  // Bound to its context under every key.
  for (const text of encrypted) assertUndecryptable(() => rotated.decrypt(text, "row 2"));
});

test("a keyring knows its keys by their ids, each once", () => {
  const [current, previous] = [createMasterKey(), createMasterKey()];
  const rotated = new Keyring(current, [previous, current, previous]);
  assert.equal(rotated.keyId, masterKeyId(current));
  assert.deepEqual(rotated.previousKeyIds, [masterKeyId(previous)]);
  const known = [current, previous, createMasterKey()].map((key) =>
    rotated.knows(masterKeyId(key)),
  );
  assert.deepEqual(known, [true, true, false]);
});

test("the id of the key is the prefix of an encrypted text, and no other text has one", () => {
  assert.equal(keyIdOf(keyring.encrypt("", "row 1")), keyring.keyId);
  for (const text of ["", keyring.keyId, `${keyring.keyId}.`, "not encrypted", "abcdefgh.AAAA"])
    assert.equal(keyIdOf(text), undefined);
});

test("an error about a text that cannot be decrypted contains at most the id of its key", () => {
  for (const text of [SECRET, `${SECRET}.AAAA`, `00000000.${SECRET}`, "00000000.cs_inst"]) {
    assert.throws(
      () => keyring.decrypt(text, "row 1"),
      (error) => error instanceof Failure && !error.message.includes("cs_inst"),
    );
  }
});

test("a master key is 32 random bytes and no other length is taken", () => {
  assert.equal(createMasterKey().length, 32);
  assert.notDeepEqual(createMasterKey(), createMasterKey());
  for (const length of [0, 16, 31, 33]) {
    assertUndecryptable(() => new Keyring(new Uint8Array(length)).keyId);
    assertUndecryptable(() => new Keyring(createMasterKey(), [new Uint8Array(length)]).keyId);
  }
});

test("fingerprints recognise equal inputs under one fingerprint key, whatever seals it", () => {
  const [one, other] = [new Keyring(createMasterKey()), new Keyring(createMasterKey())];
  const key = createFingerprintKey();
  for (const each of [one, other]) each.useFingerprintKey(key);
  assert.equal(one.fingerprint("a"), one.fingerprint("a"));
  assert.notEqual(one.fingerprint("a"), one.fingerprint("b"));
  assert.equal(one.fingerprint("a"), other.fingerprint("a"));
  other.useFingerprintKey(createFingerprintKey());
  assert.notEqual(one.fingerprint("a"), other.fingerprint("a"));
});

test("without the fingerprint key of the database nothing is fingerprinted", () => {
  assert.throws(() => new Keyring(createMasterKey()).fingerprint("a"), /no fingerprint key/);
});

test("the digest is SHA-256 of the UTF-8 text in lower-case hexadecimal", () => {
  const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  assert.equal(sha256Hex("abc"), digest);
  assert.equal(sha256Hex("é"), "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c");
});

test("an idempotency key is stored in 43 characters, however long it is", () => {
  assert.equal(hashIdempotencyKey("k".repeat(1_024)).length, 43);
  assert.notEqual(hashIdempotencyKey("a"), hashIdempotencyKey("A"));
});

test("the stored hash of a request key covers its instance", () => {
  const stored = hashRequestKey("instance 1", "k".repeat(1_024));
  assert.match(stored, /^[A-Za-z0-9_-]{32}$/);
  assert.equal(hashRequestKey("instance 1", "k".repeat(1_024)), stored);
  assert.notEqual(hashRequestKey("instance 2", "k".repeat(1_024)), stored);
  assert.notEqual(hashRequestKey("instance 1", "k".repeat(1_023)), stored);
});
