// Needs: promtool
/**
 * The alerting rules in Prometheus' own checker, against faults in alerts.test.yaml.
 */

import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

const FOLDER = join(import.meta.dirname, "../../deploy/prometheus");

function promtool(...args: readonly string[]): SpawnSyncReturns<string> {
  const ended = spawnSync("promtool", args, { cwd: FOLDER, encoding: "utf8" });
  if (ended.error === undefined) return ended;
  throw new Error(
    "Could not run promtool. Install it: apt-get install prometheus, or put promtool of a " +
      "Prometheus release on the PATH.",
    { cause: ended.error },
  );
}

test("[ours.deploy.alerts] promtool accepts the alerting rules", () => {
  const { status, stdout, stderr } = promtool("check", "rules", "alerts.yaml");
  assert.equal(status, 0, stdout + stderr);
});

test("[ours.deploy.alerts] each recorded fault fires the alert that names it, and no other listed one", () => {
  const { status, stdout, stderr } = promtool("test", "rules", "alerts.test.yaml");
  assert.equal(status, 0, stdout + stderr);
});
