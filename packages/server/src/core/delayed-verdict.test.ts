import assert from "node:assert/strict";
import { test } from "node:test";
import { commitsAt } from "./delayed-verdict.ts";

test("[ours.hold.given] a delayed verdict is applied after its delay", () => {
  assert.equal(commitsAt(10_000, 5_000, 60_000), 15_000);
  assert.equal(commitsAt(10_000, 5_000, 16_000), 15_000);
});

test("[ours.hold.deadline] a delay ends a second before the deadline, and is undefined when no time is left", () => {
  assert.equal(commitsAt(10_000, 5_000, 15_999), 14_999);
  assert.equal(commitsAt(10_000, 5_000, 11_001), 10_001);
  assert.equal(commitsAt(10_000, 5_000, 11_000), undefined);
  assert.equal(commitsAt(10_000, 5_000, 9_000), undefined);
});
