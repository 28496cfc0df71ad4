import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import type { CredentialKind } from "@countersign/protocol";
import { systemRandom } from "../clock.ts";
import { createToken, hashToken, isWellFormedToken } from "./token.ts";

const random = systemRandom();
const KINDS: readonly CredentialKind[] = ["instance", "provisioner", "reviewer"];

test("a token is a prefix by kind, 43 random characters and 6 of checksum", () => {
  assert.match(createToken("instance", random), /^cs_inst_[0-9A-Za-z]{49}$/);
  assert.match(createToken("provisioner", random), /^cs_prov_[0-9A-Za-z]{49}$/);
  assert.match(createToken("reviewer", random), /^cs_rev_[0-9A-Za-z]{49}$/);
  for (const kind of KINDS) assert.ok(isWellFormedToken(createToken(kind, random)));
});

test("the checksum is the CRC-32 of all before it in base 62", () => {
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const token = createToken("instance", random);
  const value = [...token.slice(-6)].reduce((sum, c) => sum * 62 + alphabet.indexOf(c), 0);
  assert.equal(value, crc32(token.slice(0, -6)));
});

test("a token with any one character changed, added or missing is malformed", () => {
  const token = createToken("reviewer", random);
  for (let i = 0; i < token.length; i++) {
    const other = token[i] === "a" ? "b" : "a";
    assert.equal(isWellFormedToken(token.slice(0, i) + other + token.slice(i + 1)), false);
    assert.equal(isWellFormedToken(token.slice(0, i) + token.slice(i + 1)), false);
  }
  const outsider = createToken("stranger" as CredentialKind, random);
  assert.equal(isWellFormedToken(outsider), false, "of no kind, with the checksum of its text");
  for (const text of ["", "cs_rev_", `${token}a`, ` ${token}`, `${token}\n`, token.toUpperCase()]) {
    assert.equal(isWellFormedToken(text), false);
  }
});

test("every character of the alphabet is drawn, and no two tokens are alike", () => {
  const tokens = Array.from({ length: 500 }, () => createToken("instance", random));
  assert.equal(new Set(tokens).size, tokens.length);
  const drawn = new Set(tokens.flatMap((token) => [...token.slice(8, -6)]));
  assert.equal(drawn.size, 62);
});

test("bytes that would bias the draw are drawn again", () => {
  const draws = [new Uint8Array(43).fill(255), new Uint8Array(43).fill(248), new Uint8Array(43)];
  const scripted = { ...random, bytes: () => draws.shift() ?? new Uint8Array(43) };
  assert.equal(createToken("instance", scripted).slice(8, -6), "0".repeat(43));
  assert.equal(draws.length, 0);
});

test("[ours.auth.stored-hashed] the stored value is a hash of the whole token and not the token", () => {
  const token = createToken("instance", random);
  assert.match(hashToken(token), /^[A-Za-z0-9_-]{43}$/);
  assert.equal(hashToken(token), hashToken(token));
  assert.notEqual(hashToken(token), hashToken(createToken("instance", random)));
  assert.equal(hashToken("abc"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
});
