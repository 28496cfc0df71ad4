// Tier: slow
/**
 * A few cycles of `npm run crash`, on the engine of the run.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ACTS_MAX, runCycles } from "../../../tools/crash/cycles.ts";
import { ENGINE } from "./support/engine.ts";

const CYCLES = 8;

test("[ours.operations.crash] [ours.operations.crash-under-load] servers that are killed again and again under load break no promise", async (t) => {
  const found = await runCycles(t, {
    engine: ENGINE,
    cycles: CYCLES,
    seed: 1,
    actsMax: ACTS_MAX,
    killingMs: Number.POSITIVE_INFINITY,
    isWhole: false,
    settleMs: 60_000,
    print: (line) => t.diagnostic(line),
  });

  assert.deepEqual(found.violations, [], `npm run crash -- --engine ${ENGINE} --seed 1`);
  assert.equal(found.kills, CYCLES);
  const { approved = 0, denied = 0, cancelled = 0 } = found.decisions;
  for (const count of [approved + denied, cancelled, found.events]) assert.notEqual(count, 0);
});
