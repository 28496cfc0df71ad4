// Needs: promtool
/**
 * Every expression of the Grafana dashboard is valid PromQL, and selects metrics and labels that a
 * server has.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { parse, stringify } from "yaml";
import { Metrics } from "../../packages/server/src/metrics.ts";

const DEPLOY = resolve(import.meta.dirname, "../../deploy");

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string }[];
  };
}

const DASHBOARD = JSON.parse(
  readFileSync(join(DEPLOY, "grafana/countersign.json"), "utf8"),
) as Dashboard;

const EXPRESSIONS = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

const ALERTS = parse(readFileSync(join(DEPLOY, "prometheus/alerts.yaml"), "utf8")) as {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
};

/** As Grafana replaces its variables. */
function filledIn(expression: string): string {
  return expression
    .replaceAll("$__rate_interval", "2m")
    .replaceAll("$job", "countersign")
    .replaceAll("$instance", ".*");
}

/** Prometheus adds them to every series. */
const TARGET_LABELS = ["job", "instance"];

/** The labels of each series of a server. */
async function knownMetrics(): Promise<Map<string, readonly string[]>> {
  const metrics = new Metrics();
  metrics.observe({
    longPolls: () => 0,
    countStore: async () => undefined,
    countPool: () => ({ used: 0, idle: 0, waiting: 0 }),
    lastBackup: () => undefined,
  });
  metrics.observeWake({ isListening: true, sent: 0, received: 0 });
  const known = new Map<string, readonly string[]>();
  const { text } = await metrics.text();
  // Also those of the process.
  for (const [, name = ""] of text.matchAll(/^# TYPE (\S+)/gm)) known.set(name, []);
  for (const metric of metrics.registry.getMetricsAsArray()) {
    const { name, labelNames } = metric as unknown as {
      readonly name: string;
      readonly labelNames: readonly string[];
    };
    known.set(name, labelNames);
    if (!text.includes(`# TYPE ${name} histogram`)) continue;
    known.set(`${name}_bucket`, [...labelNames, "le"]);
    known.set(`${name}_count`, labelNames);
    known.set(`${name}_sum`, labelNames);
  }
  return known.set("up", []);
}

/** @returns the unknown metrics and labels of an expression */
function faultsOf(expression: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const selectors = [...expression.matchAll(/([a-z][a-z0-9_]*)\{([^}]*)\}/g)];
  assert.ok(selectors.length > 0, expression);
  const labels = selectors.flatMap(([, name = "", filters = ""]) => {
    const own = known.get(name);
    if (own === undefined) return [name];
    const used = [...filters.matchAll(/(\w+)\s*[=!]/g)].map(([, label = ""]) => label);
    return used
      .filter((label) => !own.includes(label) && !TARGET_LABELS.includes(label))
      .map((label) => `${name}{${label}}`);
  });
  const all = [...selectors.flatMap(([, name = ""]) => known.get(name) ?? []), ...TARGET_LABELS];
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = ""]) => {
    return names.split(",").map((label) => label.trim());
  });
  return [...labels, ...grouped.filter((label) => !all.includes(label))];
}

test("[ours.deploy.dashboard] promtool accepts every expression of the dashboard", (t) => {
  assert.ok(EXPRESSIONS.length > 20);
  const file = join(temporaryFolder(t), "rules.yaml");
  const check = (expressions: readonly string[]) => {
    const rules = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
    writeFileSync(file, stringify({ groups: [{ name: "dashboard", rules }] }));
    return spawnSync("promtool", ["check", "rules", file], { encoding: "utf8" });
  };
  const { status, stdout, stderr } = check(EXPRESSIONS.map(filledIn));
  assert.equal(status, 0, stdout + stderr);
  assert.notEqual(check(["sum(rate(up[5m])"]).status, 0);
});

test("[ours.deploy.dashboard] dashboard and alerts select metrics and labels that a server has", async () => {
  const known = await knownMetrics();
  const alerts = ALERTS.groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
  for (const expression of [...EXPRESSIONS.map(filledIn), ...alerts]) {
    assert.deepEqual(faultsOf(expression, known), [], expression);
  }
  assert.deepEqual(faultsOf('sum by (a) (countersign_b{c="d"})', known), ["countersign_b", "a"]);
  assert.deepEqual(faultsOf('countersign_polls_held{c="d"}', known), ["countersign_polls_held{c}"]);
});

test("[ours.deploy.dashboard] legends use labels of their expressions, and variables exist", async () => {
  const variables = DASHBOARD.templating.list;
  const names = variables.map(({ name }) => `$${name}`);
  for (const { title, targets = [] } of DASHBOARD.panels) {
    for (const { expr, legendFormat } of targets) {
      for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
        const hasLabel = label === "instance" ? !/\bsum|\bmax/.test(expr) : expr.includes(`by (`);
        assert.ok(hasLabel && (label === "instance" || expr.includes(label)), `${title}: ${label}`);
      }
      const used = expr.match(/\$\w+/g) ?? [];
      const unknown = used.filter((name) => name !== "$__rate_interval" && !names.includes(name));
      assert.deepEqual(unknown, [], title);
    }
  }
  const queries = variables.map(({ query }) => query).filter((query) => query.includes("("));
  for (const query of queries) assert.match(query, /^label_values\(countersign_build_info[,{]/);
  assert.ok((await knownMetrics()).has("countersign_build_info"));
});

test("[ours.deploy.dashboard] every panel has an own id, and every graph a description", () => {
  const { panels } = DASHBOARD;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  for (const { type, title, description } of panels) {
    if (type !== "row") assert.ok(description, title);
  }
});
