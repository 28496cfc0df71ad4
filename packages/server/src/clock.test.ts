import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";

test("coalesced times are a second apart, also for a timer that fires a little early", () => {
  const at = 1_780_000_000_000;
  const time = systemClock.coalesced(at);
  assert.ok(time > at - 1_000 && time <= at + 5);
  assert.equal(systemClock.coalesced(time), time);
  assert.equal(systemClock.coalesced(time - 1), time);
  assert.equal(systemClock.coalesced(time + 500), time);
  assert.equal(systemClock.coalesced(time + 1_000), time + 1_000);
});
