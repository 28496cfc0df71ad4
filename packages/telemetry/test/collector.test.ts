// Tier: nightly
// Needs: otelcol
/** The official OpenTelemetry Collector between the exporters and the receiver of the test. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Child, temporaryFolder } from "@countersign/testing/child";
import { findFreePort } from "@countersign/testing/free-port";
import { startOtlpReceiver } from "../../server/test/support/otlp-receiver.ts";
import { until } from "../../server/test/support/until.ts";
import { playTraceStory } from "./support/trace-story.ts";

test("[ours.telemetry.trace] [ours.telemetry.metrics] the official collector accepts spans and metrics, and exports them unchanged", async (t) => {
  const receiver = await startOtlpReceiver(t);
  const endpoint = `127.0.0.1:${await findFreePort()}`;
  const exporter = { endpoint: receiver.url, encoding: "json", compression: "none" };
  const pipeline = { receivers: ["otlp"], exporters: ["otlphttp"] };
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: { otlphttp: exporter },
    service: {
      telemetry: { metrics: { level: "none" } },
      pipelines: { traces: pipeline, metrics: pipeline },
    },
  };
  const file = join(temporaryFolder(t), "collector.yaml");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config));
  const collector = new Child(t, ["otelcol", "--config", file], { env: process.env });
  await collector.prints("stderr", /Everything is ready/);
  await playTraceStory(t, receiver, `http://${endpoint}`);
  const name = "countersign_exchange_seconds";
  await until(() => receiver.metrics.has(name), "the metrics arrive");
  assert.ok(receiver.metrics.get(name)?.histogram?.dataPoints.length);
});
