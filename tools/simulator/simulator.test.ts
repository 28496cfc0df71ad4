/**
 * A small part of the simulator: many-seeds.test.ts plays 600 seeds, `npm run simulate` any number.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { pbkdf2 } from "node:crypto";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { Template } from "./database.ts";
import { runSeed } from "./run-seed.ts";

const derive = promisify(pbkdf2);

const SHAPE = { replicas: 3, steps: 2_500 };

const template = await Template.make();
after(() => template.remove());

function simulate(...options: readonly string[]) {
  const program = join(import.meta.dirname, "simulate.ts");
  return spawnSync(process.execPath, [program, ...options], { encoding: "utf8" });
}

/**
 * Occupies all threads for signatures and files.
 *
 * @returns releases them
 */
function occupyThreads(): () => Promise<void> {
  let isOver = false;
  const work = async () => {
    while (!isOver) await derive("password", "salt", 20_000, 32, "sha256");
  };
  const working = Array.from({ length: 16 }, work);
  return async () => {
    isOver = true;
    await Promise.all(working);
  };
}

test("[ours.simulation.promises] no promise is broken by what these seeds do, and everything ends", () => {
  const { status, stdout, stderr } = simulate("--seeds", "40");
  assert.equal(status, 0, stdout + stderr);
});

test("[ours.simulation.replayed] the same seed produces the same schedule, turn by turn", async () => {
  const play = () => runSeed(template, { ...SHAPE, seed: 3, isTraced: true });
  const [first, second] = [await play(), await play()];
  assert.deepEqual(first.trace, second.trace);
  assert.equal(first.digest, second.digest);
  assert.ok(first.trace.length > SHAPE.steps);
  const other = await runSeed(template, { ...SHAPE, seed: 4, isTraced: false });
  assert.notEqual(first.digest, other.digest);
});

test("[ours.simulation.replayed] threads that are busy do not change the schedule", async () => {
  const play = () => runSeed(template, { ...SHAPE, seed: 3, isTraced: true });
  const idle = await play();
  const release = occupyThreads();
  const busy = await play();
  await release();
  assert.deepEqual(busy.trace, idle.trace);
  assert.equal(busy.digest, idle.digest);
});

test("[ours.simulation.finds] a planted defect is found, and reported with the command that replays it", () => {
  const found = simulate("--mutation", "event-missing", "--seeds", "10");
  assert.equal(found.status, 0, found.stdout + found.stderr);
  const [, broken = "", digest = "", options = ""] =
    /^seed \d+ breaks (I3: .*)\n {2}replay \((\w+)\): npm run simulate -- (.*)$/m.exec(
      found.stdout,
    ) ?? [];
  const again = simulate(...options.split(" "));
  assert.equal(again.status, 0, again.stdout + again.stderr);
  assert.ok(again.stdout.includes(`BROKEN: ${broken}`), again.stdout.slice(-2_000));
  assert.ok(again.stdout.includes(`replay (${digest})`));
});

test("[ours.simulation.groups] works that share a transaction are played by the grouping of the product", () => {
  const found = simulate("--mutation", "failed-commit-acknowledged", "--seeds", "10");
  assert.equal(found.status, 0, found.stdout + found.stderr);
  assert.match(found.stdout, /^seed \d+ breaks I11: /m);
});

test("a mutation that has no place in the source any more is an error, not a success", () => {
  const { status, stderr } = simulate("--mutation", "unknown", "--seeds", "1");
  assert.notEqual(status, 0);
  assert.match(stderr, /there is no mutation unknown/);
});
