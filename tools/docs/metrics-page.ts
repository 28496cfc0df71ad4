/** Writes docs/reference/metrics.md from the registry of the metrics. */

import type { Metric } from "prom-client";
import { Metrics } from "../../packages/server/src/metrics.ts";

const INTRODUCTION = `# Metrics

<!-- Made by \`npm run docs\` from packages/server/src/metrics.ts. -->

This page lists every metric that \`GET /metrics\` returns, in the format of Prometheus.
[Operate](../guides/operate.md) explains who can read them, and
[Deploy](../../deploy/README.md) has alerts and a Grafana dashboard that use them.
[OpenTelemetry](../guides/telemetry.md) exports the same metrics by OTLP.

Labels have few and fixed values. No metric contains a tool name, arguments or a user name.`;

const PROCESS = `## Process

Metrics with names that start with \`process_\` or \`nodejs_\` describe memory, CPU, the event loop
and the garbage collector. They are the [default metrics of
prom-client](https://github.com/siimon/prom-client#default-metrics).

\`countersign_build_info\` is always 1. Its labels \`version\` and \`node\` are the versions of
Countersign and Node.js.
`;

/** The whole page. */
export function metricsPage(): string {
  const metrics = new Metrics();
  metrics.observe({
    longPolls: () => 0,
    countStore: async () => undefined,
    countPool: () => ({ used: 0, idle: 0, waiting: 0 }),
    lastBackup: () => undefined,
  });
  metrics.observeWake({ isListening: true, sent: 0, received: 0 });
  const rows = metrics.registry
    .getMetricsAsArray()
    .map((metric) => metric as unknown as DescribedMetric)
    .sort((a, b) => a.name.localeCompare(b.name))
    .map(({ name, help, labelNames, constructor: kind }) => {
      const labels = labelNames.map((label) => `\`${label}\``).join(", ");
      return `| \`${name}\` | ${kind.name.toLowerCase()} | ${labels} | ${help} |`;
    });
  const table = ["| Metric | Type | Labels | Meaning |", "| --- | --- | --- | --- |", ...rows];
  return [INTRODUCTION, `## Countersign\n\n${table.join("\n")}`, PROCESS].join("\n\n");
}

/** The members of a metric that prom-client's types do not declare. */
interface DescribedMetric extends Pick<Metric, "reset"> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly constructor: { readonly name: string };
}
