import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizeLogin, parseLogin, parsePersonName } from "./login.ts";
import { parsePassword } from "./password.ts";

test("[ours.sign-in.login] a login has one form: lower case, compatible characters made equal, without blanks around it", () => {
  assert.equal(normalizeLogin(" Ana@Example.ORG\n"), "ana@example.org");
  assert.equal(normalizeLogin("ａｎａ"), "ana");
  assert.equal(normalizeLogin("Ångström"), normalizeLogin("A\u030angstro\u0308m"));
});

test("[ours.sign-in.login] a text with spaces or invisible characters is not a valid login", () => {
  const wrong = [
    "",
    " ",
    "a b",
    "a\u200bb",
    "a\u202eb",
    "a\0",
    "\ud800",
    "a".repeat(255),
    // Of no category that says so: joiners, fillers, selectors, an empty braille cell.
    "a\u034f",
    "\u3164",
    "a\u115f",
    "a\ufe0f",
    "a\u{e0100}",
    "a\u2800",
  ];
  for (const text of wrong) {
    assert.equal(normalizeLogin(text), undefined, JSON.stringify(text));
    assert.throws(() => parseLogin(text), { code: "invalid_request", param: "login" });
  }
  assert.equal(parseLogin("a".repeat(254)).length, 254);
});

test("[ours.sign-in.login] a name has no control characters and no invisible characters", () => {
  assert.equal(parsePersonName(" Ana Ibarra "), "Ana Ibarra");
  const wrong = ["", "  ", "a\u202eb", "a\nb", "x".repeat(101), "\u3164", "a\ufe0f", "\u2800"];
  for (const text of wrong) {
    assert.throws(() => parsePersonName(text), { code: "invalid_request", param: "name" });
  }
});

test("[ours.sign-in.password-rules] a password has 12 to 256 characters, and is neither the login nor one repeated character", () => {
  assert.equal(parsePassword("a b c d e f ", "ana"), "a b c d e f ");
  assert.equal(parsePassword("ｐassword-pass", "ana"), "password-pass");
  assert.equal(parsePassword(`${"x".repeat(250)}abcdef`, "ana").length, 256);
  const wrong = [
    "",
    "eleven char",
    "🐟".repeat(6),
    "a".repeat(40),
    "ababababababab",
    "ana@example.org",
    "ANA@example.org",
    `${"x".repeat(250)}abcdefg`,
  ];
  for (const text of wrong) {
    assert.throws(
      () => parsePassword(text, "ana@example.org"),
      { code: "invalid_request", param: "password" },
      text,
    );
  }
});

test("[ours.sign-in.login] a login has 254 characters and a name 100 at most, and a refusal says so", () => {
  assert.equal(normalizeLogin("a".repeat(254)), "a".repeat(254));
  assert.equal(normalizeLogin("a".repeat(255)), undefined);
  // Surrounding spaces do not count, up to the length limit of the input.
  assert.equal(normalizeLogin(`a${" ".repeat(4 * 254 - 1)}`), "a");
  assert.equal(normalizeLogin(`a${" ".repeat(4 * 254)}`), undefined);
  const login = /must be 1 to 254 visible characters without spaces/;
  assert.throws(() => parseLogin("a b"), { message: login, param: "login" });
  assert.equal(parsePersonName("n".repeat(100)), "n".repeat(100));
  const name = /must be 1 to 100 visible characters/;
  assert.throws(() => parsePersonName("n".repeat(101)), { message: name, param: "name" });
});
