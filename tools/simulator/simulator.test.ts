/**
 * The simulator, a bounded part of it: `npm run simulate` goes on for as long as it is told to.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { Template } from "./database.ts";
import { runSeed } from "./run-seed.ts";

const SHAPE = { replicas: 3, steps: 2_500 };
/** About a minute and a half of one core that does nothing else. */
const SEEDS = 600;

const template = await Template.make();
after(() => template.remove());

function simulate(...options: readonly string[]) {
  const program = join(import.meta.dirname, "simulate.ts");
  return spawnSync(process.execPath, [program, ...options], { encoding: "utf8" });
}

test("[ours.simulation.promises] no promise is broken by what these seeds do, and everything ends", () => {
  // In a process of its own: the test runner follows every promise, which takes as long again.
  const { status, stdout, stderr } = simulate("--seeds", String(SEEDS));
  assert.equal(status, 0, stdout + stderr);
  const totals: Record<string, number> = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
  // What never happened was not tried.
  const kinds = ["crashes", "freezes", "stops", "leaps", "messages", "verified logs", "outrun"];
  const ends = ["approved", "denied", "expired", "cancelled", "by acknowledged", "by deletion"];
  const shared = ["shared and ended", "shared and undone", "shared and unknown"];
  for (const kind of [...kinds, ...ends, ...shared])
    assert.ok((totals[kind] ?? 0) > 0, `no ${kind}`);
});

test("[ours.simulation.replayed] the same seed is the same schedule, turn by turn", async () => {
  const play = () => runSeed(template, { ...SHAPE, seed: 3, isTraced: true });
  const [first, second] = [await play(), await play()];
  assert.deepEqual(first.trace, second.trace);
  assert.equal(first.digest, second.digest);
  assert.ok(first.trace.length > SHAPE.steps);
  const other = await runSeed(template, { ...SHAPE, seed: 4, isTraced: false });
  assert.notEqual(first.digest, other.digest);
});

test("[ours.simulation.finds] a defect that is planted is found, and told with the command that plays it again", () => {
  const found = simulate("--mutation", "event-left-out", "--seeds", "10");
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
  const found = simulate("--mutation", "refused-commit-told-as-done", "--seeds", "10");
  assert.equal(found.status, 0, found.stdout + found.stderr);
  assert.match(found.stdout, /^seed \d+ breaks I11: /m);
});

test("a mutation that has no place in the source any more is an error, not a success", () => {
  const { status, stderr } = simulate("--mutation", "unknown", "--seeds", "1");
  assert.notEqual(status, 0);
  assert.match(stderr, /there is no mutation unknown/);
});
