import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { SignInLimits } from "./sign-in-limits.ts";

/** How many attempts go through before one is refused, `max` at most. */
function countFailures(attempt: (n: number) => unknown, max = 200): number {
  for (let n = 0; n < max; n++) {
    try {
      attempt(n);
    } catch {
      return n;
    }
  }
  return max;
}

test("[ours.sign-in.rate] a login has ten attempts at once, then one per minute, from all addresses together", () => {
  const clock = new ManualClock();
  const limits = new SignInLimits(clock);
  const attempt = (n: number) => limits.chargeAttempt("Ana", `10.0.0.${n}`);
  assert.equal(countFailures(attempt), 10);
  const message = "Too many attempts to sign in. Wait before the next attempt.";
  const refusal = { code: "rate_limited", status: 429, message, retryAfterS: 60 };
  // The same login, however it is written.
  assert.throws(() => limits.chargeAttempt(" ana ", "10.0.1.1"), refusal);
  limits.chargeAttempt("ben", "10.0.1.1");
  clock.advance(59_000);
  assert.throws(() => limits.chargeAttempt("ana", "10.0.1.1"), { ...refusal, retryAfterS: 1 });
  clock.advance(1_000);
  limits.chargeAttempt("ana", "10.0.1.1");
  assert.throws(() => limits.chargeAttempt("ana", "10.0.1.1"), refusal);
});

test("[ours.sign-in.rate] an address has sixty attempts at once, then one a second, whosever logins they are", () => {
  const clock = new ManualClock();
  const limits = new SignInLimits(clock);
  const attempt = (n: number) => limits.chargeAttempt(`login${n}`, "10.0.0.1");
  assert.equal(countFailures(attempt), 60);
  assert.throws(() => limits.chargeAttempt("another", "10.0.0.1"), { retryAfterS: 1 });
  limits.chargeAttempt("another", "10.0.0.2");
  clock.advance(1_000);
  limits.chargeAttempt("another", "10.0.0.1");
});

test("[ours.sign-in.rate] texts that are not valid logins count as one", () => {
  const limits = new SignInLimits(new ManualClock());
  const texts = ["a b", "", "\0", "c d"];
  const attempt = (n: number) => limits.chargeAttempt(texts[n % texts.length] ?? "", `10.0.0.${n}`);
  assert.equal(countFailures(attempt), 10);
  limits.chargeAttempt("ana", "10.0.1.1");
});

test("[ours.sign-in.rate] a successful attempt uses up neither the limit of the login nor that of the address", () => {
  const limits = new SignInLimits(new ManualClock());
  for (let n = 0; n < 200; n++) limits.chargeAttempt("ana", "10.0.0.1")();
  const failing = (login: string, address: string) =>
    countFailures((n) => limits.chargeAttempt(`${login}${n % 10}`, address));
  assert.equal(
    countFailures((n) => limits.chargeAttempt("ana", `10.0.1.${n}`)),
    10,
    "of the login",
  );
  assert.equal(failing("other", "10.0.0.1"), 60, "of the address");
});

test("[ours.sign-in.rate] the audit log gets ten rejected attempts of a login at once, then one per six minutes", () => {
  const clock = new ManualClock();
  const limits = new SignInLimits(clock);
  for (let n = 0; n < 10; n++) assert.equal(limits.mayRecord("ana"), true);
  assert.equal(limits.mayRecord("ANA"), false);
  assert.equal(limits.mayRecord("ben"), true);
  clock.advance(359_999);
  assert.equal(limits.mayRecord("ana"), false);
  clock.advance(1);
  assert.equal(limits.mayRecord("ana"), true);
  assert.equal(limits.mayRecord("ana"), false);
});
