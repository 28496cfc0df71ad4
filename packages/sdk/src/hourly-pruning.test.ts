/** Starts of the deletion of old records. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemTiming } from "./clock.ts";
import { HourlyPruning } from "./hourly-pruning.ts";

function pruningAt(clock: { ms: number }, prune: () => Promise<void>) {
  const errors: unknown[] = [];
  const timing = { ...systemTiming, monotonic: () => clock.ms, sleep: async () => {} };
  const onPruneError = (error: unknown) => {
    errors.push(error);
    throw new Error("a failing handler");
  };
  return { errors, pruning: new HourlyPruning(prune, { timing, onPruneError }) };
}

/** Resolves after every callback that is due. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("[ours.sdk.store] a store starts to prune at most once an hour", async () => {
  const clock = { ms: 5 };
  let count = 0;
  const { pruning } = pruningAt(clock, async () => void count++);
  pruning.start();
  assert.equal(count, 0, "the caller continues first");
  pruning.start();
  await turn();
  assert.equal(count, 1);
  clock.ms += 3_599_999;
  pruning.start();
  await turn();
  assert.equal(count, 1);
  clock.ms += 1;
  pruning.start();
  await turn();
  assert.equal(count, 2);
});

test("[ours.sdk.store] a failed prune is reported, and a failing handler throws nothing", async () => {
  const clock = { ms: 0 };
  const { pruning, errors } = pruningAt(clock, () => Promise.reject(new Error("disk full")));
  pruning.start();
  await turn();
  clock.ms += 3_600_000;
  pruning.start();
  await turn();
  assert.deepEqual(errors.map(String), ["Error: disk full", "Error: disk full"]);
});
