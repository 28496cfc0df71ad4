import assert from "node:assert/strict";
import { test } from "node:test";
import { commitsAt } from "./held-verdict.ts";

test("[ours.hold.given] a verdict is given when it was held for as long as was asked for", () => {
  assert.equal(commitsAt(10_000, 5_000, 60_000), 15_000);
  assert.equal(commitsAt(10_000, 5_000, 16_000), 15_000);
});

test("[ours.hold.deadline] a second before the deadline at the latest, and not held at all where there is none left", () => {
  assert.equal(commitsAt(10_000, 5_000, 15_999), 14_999);
  assert.equal(commitsAt(10_000, 5_000, 11_001), 10_001);
  assert.equal(commitsAt(10_000, 5_000, 11_000), undefined);
  assert.equal(commitsAt(10_000, 5_000, 9_000), undefined);
});
