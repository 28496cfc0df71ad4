import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { EMPTY_ROOT } from "./merkle.ts";
import {
  isSignedBy,
  privateKeyOf,
  publicKeyOf,
  readCheckpoint,
  readVerifier,
  signCheckpoint,
  writeVerifier,
} from "./signed-note.ts";

/** The example of golang.org/x/mod/sumdb/note, which the specification was written down from. */
const PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const NOTE =
  "If you think cryptography is the answer to your problem,\n" +
  "then you don't know what your problem is.\n" +
  "\n" +
  "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngo" +
  "tpRZb6KE6RyyBwJnAM=\n";

/** Of RFC 8032, 7.1, test 1. */
const SEED = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
const PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

const NAME = "countersign/audit/p/0011223344556677";

function setUp() {
  const privateKey = privateKeyOf(SEED);
  const publicKey = publicKeyOf(privateKey);
  const head = { size: 0, root: EMPTY_ROOT };
  const note = signCheckpoint(head, { name: NAME, privateKey }, publicKey);
  return { note, publicKey, verifier: { name: NAME, publicKey } };
}

test("[ours.audit.checkpoint] notes of other implementations are verified by their keys", () => {
  const peter = readVerifier(PETER);
  assert.ok(peter);
  assert.equal(peter.name, "PeterNeumann");
  assert.equal(writeVerifier(peter), PETER);
  assert.ok(isSignedBy(NOTE, peter));
  assert.ok(!isSignedBy(NOTE.replace("cryptography", "Cryptography"), peter));
  assert.ok(!isSignedBy(NOTE.replace("x08go", "x08gp"), peter));
});

test("[ours.audit.checkpoint] a checkpoint is an origin, a size and a root, signed under the origin's name", () => {
  const { note, publicKey, verifier } = setUp();
  assert.equal(Buffer.from(publicKey).toString("hex"), PUBLIC);
  const [origin, size, root, blank, signature, end] = note.split("\n");
  assert.deepEqual([origin, size, blank, end], [NAME, "0", "", ""]);
  assert.equal(root, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
  assert.match(signature ?? "", new RegExp(`^\u2014 ${NAME} [A-Za-z0-9+/]{91}=$`));
  assert.deepEqual(readCheckpoint(note), { origin: NAME, size: 0, root: Buffer.from(EMPTY_ROOT) });
  assert.ok(isSignedBy(note, verifier));
  assert.deepEqual(readVerifier(writeVerifier(verifier))?.name, NAME);
});

test("[ours.audit.checkpoint] the reader detects every change in a checkpoint or its key", () => {
  const { note, verifier } = setUp();
  for (const altered of [
    note.replace("\n0\n", "\n1\n"),
    note.replace("47DE", "47DF"),
    note.replaceAll(NAME, `${NAME}8`),
    note.replace(/.{6}=\n$/, "AAAAAA=\n"),
    note.replace(/\n\u2014 .*$/s, "\n"),
    `${note}\u2014 ${NAME} ${note
      .split(" ")
      .at(-1)
      ?.replace(/.{8}=\n$/, "AAAAAAAA=\n")}`,
  ]) {
    assert.ok(!isSignedBy(altered, verifier), altered);
  }
  const other = { ...verifier, publicKey: Buffer.alloc(32, 9) };
  assert.ok(!isSignedBy(note, other));
  for (const text of [
    "",
    "a\n1\nAA\n",
    note.slice(1).replace("\n0\n", "\n01\n"),
    note.slice(0, -1),
  ]) {
    assert.equal(readCheckpoint(text), undefined);
  }
  const key = writeVerifier(verifier);
  assert.equal(readVerifier(key.replace(NAME, "another")), undefined);
  assert.equal(readVerifier(key.slice(0, -3)), undefined);
});

test("[ours.audit.checkpoint] a key of another length or kind is not a verifier, even with the matching hash", () => {
  const lineOf = (bytes: Uint8Array) => {
    const id = hash("sha256", Buffer.concat([Buffer.from("x\n"), bytes]), "buffer").subarray(0, 4);
    return `x+${id.toString("hex")}+${Buffer.from(bytes).toString("base64")}`;
  };
  const key = Buffer.alloc(33, 7);
  key[0] = 1;
  assert.ok(readVerifier(lineOf(key)));
  assert.equal(readVerifier(lineOf(key.subarray(0, 32))), undefined);
  assert.equal(readVerifier(lineOf(Buffer.concat([key, key.subarray(0, 1)]))), undefined);
  const other = Buffer.from(key);
  other[0] = 2;
  assert.equal(readVerifier(lineOf(other)), undefined);
  assert.equal(readVerifier(""), undefined);
});

test("[ours.audit.checkpoint] a root in another base64 spelling is not a checkpoint", () => {
  const { note } = setUp();
  const [origin = "", size = "", root = "", ...rest] = note.split("\n");
  // The last character before the sign of equality holds two bits that decode to nothing.
  const respelled = root.replace(/.=$/, (end) => `${end === "U=" ? "V" : "U"}=`);
  const read = (text: string) => readCheckpoint([origin, size, text, ...rest].join("\n"));
  assert.ok(read(root));
  assert.notEqual(respelled, root);
  assert.equal(Buffer.from(respelled, "base64").length, 32);
  const isSame = Buffer.from(respelled, "base64").equals(Buffer.from(root, "base64"));
  assert.equal(read(respelled) === undefined, isSame);
});
