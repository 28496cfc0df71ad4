/** A failing worker of the server has a count from the start, and fires an alert. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { Metrics } from "../../packages/server/src/metrics.ts";

const ROOT = resolve(import.meta.dirname, "../..");

/** The names that jobs on the timer loop and destinations of the outbox give to their failures. */
function workerNames(): string[] {
  const folders = ["workers", "outbox"].map((name) => join(ROOT, "packages/server/src", name));
  const names = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => !file.endsWith(".test.ts"))
      .flatMap((file) => [
        ...readFileSync(join(folder, file), "utf8").matchAll(/\bname(?::| =) "([a-z]+)"/g),
      ])
      .map(([, name = ""]) => name),
  );
  assert.ok(names.length >= 15, names.join(" "));
  return names;
}

test("[ours.deploy.alerts] the failures of every worker have a count from the start", async () => {
  const { text } = await new Metrics().text();
  const missing = workerNames().filter(
    (name) => !text.includes(`countersign_failures_total{dependency="${name}"} 0\n`),
  );
  assert.deepEqual(missing, []);
});

test("[ours.deploy.alerts] an alert fires for the failures of every worker", () => {
  const alerts = parse(readFileSync(join(ROOT, "deploy/prometheus/alerts.yaml"), "utf8")) as {
    readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[];
  };
  const rules = alerts.groups.flatMap((group) => group.rules);
  const rule = rules.find(({ alert }) => alert === "CountersignWorkerFailing");
  const [, names = ""] = /dependency=~"([^"]+)"/.exec(rule?.expr ?? "") ?? [];
  const missing = workerNames().filter((name) => !names.split("|").includes(name));
  assert.deepEqual(missing, []);
});
