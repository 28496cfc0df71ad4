import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";

test("beats are a second apart, and a timer that fires a little early has the next one", () => {
  const at = 1_780_000_000_000;
  const beat = systemClock.beatBefore(at);
  assert.ok(beat > at - 1_000 && beat < at + 10);
  assert.equal(systemClock.beatBefore(beat), beat);
  assert.equal(systemClock.beatBefore(beat - 1), beat);
  assert.equal(systemClock.beatBefore(beat + 500), beat);
  assert.equal(systemClock.beatBefore(beat + 1_000), beat + 1_000);
});
