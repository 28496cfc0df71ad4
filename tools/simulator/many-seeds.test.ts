// Tier: slow
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

/** About 75 s of processor time. */
const SEEDS = 600;

test("[ours.simulation.promises] 600 seeds break no promise, and every kind of fault and outcome occurs", () => {
  // In another process: the test runner tracks every promise, which takes as long again.
  const program = join(import.meta.dirname, "simulate.ts");
  const args = [program, "--seeds", String(SEEDS)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  const totals: Record<string, number> = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
  // Each kind of event must occur at least once.
  const kinds = ["crashes", "freezes", "stops", "leaps", "messages", "verified logs", "outrun"];
  const ends = ["approved", "denied", "expired", "cancelled", "by acknowledged", "by deletion"];
  const shared = ["shared and ended", "shared and undone", "shared and unknown"];
  for (const kind of [...kinds, ...ends, ...shared])
    assert.ok((totals[kind] ?? 0) > 0, `no ${kind}`);
});
