import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../clock.ts";
import { DatabaseClock } from "./database-clock.ts";

/** Within the time that a busy machine takes between two lines. */
function assertAhead(clock: DatabaseClock, ms: number): void {
  const ahead = clock.now() - systemClock.now();
  assert.ok(Math.abs(ahead - ms) <= 50, `${ahead} ms ahead and not ${ms}`);
}

test("a clock follows that of the database, ahead or behind, and when it is set", () => {
  const clock = new DatabaseClock();
  assertAhead(clock, 0);
  for (const ahead of [300_000, -300_000, 0]) {
    const queriedAt = systemClock.now();
    clock.learn(queriedAt + ahead, queriedAt);
    assertAhead(clock, ahead);
  }
});

test("an answer that took long moves a clock no further than it must", () => {
  const clock = new DatabaseClock();
  const now = systemClock.now();
  // Read at some time in the last ten seconds: that may have been just now.
  clock.learn(now, now - 10_000);
  assertAhead(clock, 0);
  clock.learn(now + 60_000, now - 10_000);
  assertAhead(clock, 60_000);
});
