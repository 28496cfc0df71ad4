import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizePassword, parsePassword, parseSubmittedPassword } from "./password.ts";

function refusal(message: string, param = "password") {
  return { code: "invalid_request", status: 400, param, message: `${param} ${message}.` };
}

const SHORT = refusal("must have at least 12 characters");
const LONG = refusal("must not be longer than 256 characters");
const EASY = refusal("is too easy to guess");

/** So many characters, of four kinds. */
const long = (chars: number) => "abcd".repeat(64).slice(0, chars).padEnd(chars, "x");

test("[ours.sign-in.password-rules] an invalid new password is rejected with its field and the reason", () => {
  assert.throws(() => parsePassword(long(11), "ana"), SHORT);
  assert.throws(() => parsePassword(long(257), "ana"), LONG);
  assert.throws(() => parsePassword("abcabcabcabc", "ana"), EASY);
  assert.throws(() => parsePassword("Ana@Example.test", "ana@example.test"), EASY);
  const named = refusal("is too easy to guess", "new_password");
  assert.throws(() => parsePassword("aaaaaaaaaaaa", "ana", "new_password"), named);
  for (const chars of [12, 256]) assert.equal(parsePassword(long(chars), "ana"), long(chars));
  assert.equal(parsePassword("abcdabcdabcd", "ana"), "abcdabcdabcd", "four kinds are enough");
});

test("[ours.sign-in.password-rules] a submitted password may be any possible password, in its normal form", () => {
  for (const text of ["", "a", "aaaaaaaaaaaa", long(256)]) {
    assert.equal(parseSubmittedPassword(text), text);
  }
  assert.equal(parseSubmittedPassword("ｐａｓｓ"), "pass");
  assert.equal(parseSubmittedPassword("e\u0301"), normalizePassword("\u00e9"));
  assert.throws(() => parseSubmittedPassword(long(257)), LONG);
  const named = refusal("must not be longer than 256 characters", "old_password");
  assert.throws(() => parseSubmittedPassword(long(257), "old_password"), named);
});
