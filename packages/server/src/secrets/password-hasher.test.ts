import assert from "node:assert/strict";
import { scryptSync } from "node:crypto";
import { test } from "node:test";
import { Problem } from "@countersign/protocol";
import { systemRandom } from "../clock.ts";
import { PasswordHasher } from "./password-hasher.ts";

const PASSWORD = "seven grey herons wait";

test("[ours.sign-in.password-stored] a password is stored as scrypt with a salt of its own and the parameters that OWASP names", async () => {
  const hasher = new PasswordHasher(systemRandom());
  const [one, two] = [await hasher.hash(PASSWORD), await hasher.hash(PASSWORD)];
  assert.notEqual(one, two);
  const [, salt = "", hash] = /^scrypt\$N=32768,r=8,p=3\$([\w-]{22})\$([\w-]{43})$/.exec(one) ?? [];
  const options = { N: 32_768, r: 8, p: 3, maxmem: 2 ** 26 };
  const expected = scryptSync(PASSWORD, Buffer.from(salt, "base64url"), 32, options);
  assert.equal(hash, expected.toString("base64url"));
  assert.equal(await hasher.verify(PASSWORD, one), true);
  assert.equal(await hasher.verify(`${PASSWORD} `, one), false);
});

test("[ours.sign-in.password-stored] one that was stored with other parameters is compared by those", async () => {
  const hasher = new PasswordHasher(systemRandom());
  const salt = Buffer.from("salt of old times");
  const hash = scryptSync(PASSWORD, salt, 32, { N: 1024, r: 8, p: 1 }).toString("base64url");
  const stored = `scrypt$N=1024,r=8,p=1$${salt.toString("base64url")}$${hash}`;
  assert.equal(await hasher.verify(PASSWORD, stored), true);
  assert.equal(await hasher.verify("another", stored), false);
});

test("[ours.sign-in.password-stored] a password without an account never matches; an unreadable hash is a fault", async () => {
  const hasher = new PasswordHasher(systemRandom());
  assert.equal(await hasher.verify("", null), false);
  for (const stored of ["", PASSWORD, "scrypt$N=1024,r=8,p=1$aaaa$", "scrypt$N=1024,r=8,p=1$a$a"]) {
    await assert.rejects(hasher.verify(PASSWORD, stored), /is malformed/);
  }
});

test("[ours.sign-in.busy] of many simultaneous sign-ins, some get Retry-After, and the event loop is not blocked", async () => {
  const hasher = new PasswordHasher(systemRandom());
  const stored = `scrypt$N=16384,r=8,p=1$c2FsdA$${"A".repeat(43)}`;
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const outcomes = await Promise.allSettled(
    Array.from({ length: 40 }, () => hasher.verify(PASSWORD, stored)),
  );
  clearInterval(timer);
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  assert.equal(refused.length, 10);
  for (const { reason } of refused) {
    assert.ok(reason instanceof Problem && reason.code === "rate_limited");
  }
  assert.ok(turns > 5, `the loop came round ${turns} times`);
  assert.equal(await hasher.verify(PASSWORD, stored), false, "there is room again");
});
