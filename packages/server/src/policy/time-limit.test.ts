import assert from "node:assert/strict";
import { test } from "node:test";
import { withinTime } from "./time-limit.ts";

test("[ours.policy.bounded] work that never ends is stopped, and the next work runs", () => {
  let steps = 0;
  const finished = withinTime(20, () => {
    for (;;) {
      try {
        steps++;
      } finally {
        steps++;
      }
    }
  });
  assert.equal(finished, false);
  assert.ok(steps > 0);
  let done = false;
  assert.ok(
    withinTime(1_000, () => {
      done = true;
    }),
  );
  assert.ok(done);
});

test("[ours.policy.bounded] a backtracking regular expression is stopped at the time limit", () => {
  const finished = withinTime(20, () => {
    /^(a+)+$/.test(`${"a".repeat(40)}b`);
  });
  assert.equal(finished, false);
});

test("an error of the work is thrown unchanged", () => {
  const error = new RangeError("mine");
  assert.throws(
    () =>
      withinTime(1_000, () => {
        throw error;
      }),
    error,
  );
});
