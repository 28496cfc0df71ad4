import assert from "node:assert/strict";
import { test } from "node:test";
import { Report } from "../../server/src/report.ts";
import type { TelemetryModule } from "../../server/src/telemetry-interface.ts";
import { startOtlpReceiver, toRecord } from "../../server/test/support/otlp-receiver.ts";
import { until } from "../../server/test/support/until.ts";
import { playTraceStory } from "./support/trace-story.ts";
import { setEnvironment, startTracedScene, untilSeen } from "./support/traced-scene.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";

const PARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

test("[ours.telemetry.trace] a call of the SDK, its policy, decision, notification and webhook are one trace", async (t) => {
  const receiver = await startOtlpReceiver(t);
  await playTraceStory(t, receiver, receiver.url);
});

test("[ours.telemetry.traceparent] an invalid header starts a new trace, and no header changes the request or its replay", async (t) => {
  const receiver = await startOtlpReceiver(t);
  const { server, token } = await startTracedScene(t, { collector: receiver.url });
  const invalid = ["", "x", PARENT.replace("00-", "ff-"), `${PARENT}-more`, PARENT.toUpperCase()];
  const body = { tool: "x", arguments: {}, timeout: "1h" };
  const submit = (key: string, traceparent: string) => {
    const headers = { traceparent };
    return server.call<{ id: string }>("POST", "/v1/requests", { token, key, headers, body });
  };
  for (const [index, header] of invalid.entries()) {
    const { status, text } = await submit(`invalid ${index}`, header);
    assert.equal(status, 201, text);
    assert.doesNotMatch(text, /trace/);
  }
  const first = await submit("valid", PARENT);
  const replay = await submit("valid", PARENT.replace("b7ad", "c7ad"));
  assert.deepEqual([first.status, replay.status, replay.text], [201, 200, first.text]);
  const count = invalid.length + 2;
  await until(() => receiver.named("countersign.create").length === count, "all spans arrive");
  const spans = receiver.named("countersign.create");
  const ofCaller = spans.filter(({ traceId }) => traceId === TRACE_ID);
  assert.deepEqual(
    ofCaller.map(({ attributes }) => attributes["countersign.outcome"]),
    ["created", "replayed"],
  );
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, invalid.length + 1);
});

test("[ours.telemetry.failures] a rejected submission is a failed span with the code of the error", async (t) => {
  const receiver = await startOtlpReceiver(t);
  const { server, token } = await startTracedScene(t, { collector: receiver.url });
  const submit = (tool: string) => {
    const body = { tool, arguments: {}, timeout: "1h" };
    return server.call("POST", "/v1/requests", { token, key: "same", body });
  };
  await submit("one");
  assert.equal((await submit("other")).status, 409);
  await until(() => receiver.named("countersign.create").length === 2, "both spans arrive");
  const failed = receiver.named("countersign.create").filter(({ hasFailed }) => hasFailed);
  assert.deepEqual(
    failed.map(({ attributes }) => attributes["error.type"]),
    ["idempotency_conflict"],
  );
});

test("[ours.telemetry.metrics] the collector receives the metrics of /metrics with their names, labels and values", async (t) => {
  const receiver = await startOtlpReceiver(t);
  setEnvironment(t, {
    OTEL_SERVICE_NAME: "approvals",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
  });
  const { server, token } = await startTracedScene(t, { collector: receiver.url });
  await server.submit(token);
  const counter = "countersign_requests_created_total";
  await until(() => {
    return receiver.metrics.get(counter)?.sum?.dataPoints[0]?.asDouble === 1;
  }, "the counter arrives");
  assert.equal(receiver.metrics.get(counter)?.sum?.isMonotonic, true);
  const pending = receiver.metrics.get("countersign_requests_pending")?.gauge?.dataPoints;
  assert.equal(pending?.[0]?.asDouble, 1);

  const exchanges = receiver.metrics.get("countersign_exchange_seconds");
  assert.equal(exchanges?.unit, "s");
  const point = exchanges?.histogram?.dataPoints.find(({ attributes }) => {
    const { operation, status } = toRecord(attributes);
    return operation === "createApprovalRequest" && status === "201";
  });
  assert.equal(point?.count, "1");
  // A bucket more than bounds, and each exchange in one bucket.
  assert.equal(point?.bucketCounts.length, (point?.explicitBounds.length ?? 0) + 1);
  const counted = point?.bucketCounts.reduce((sum, count) => sum + Number(count), 0);
  assert.equal(counted, 1);

  await until(() => receiver.spans.length > 0, "a span arrives");
  assert.equal(receiver.resource["service.name"], "approvals");
  assert.equal(receiver.resource["deployment.environment.name"], "test");
});

test("[ours.telemetry.exemplars] a scrape in the OpenMetrics format has the trace of an exchange", async (t) => {
  const receiver = await startOtlpReceiver(t);
  const { server, token } = await startTracedScene(t, { collector: receiver.url });
  const headers = { traceparent: PARENT };
  const body = { tool: "x", arguments: {}, timeout: "1h" };
  await server.call("POST", "/v1/requests", { token, key: "a", headers, body });
  const accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
  const scrape = await fetch(`${server.url}/metrics`, { headers: { accept } });
  assert.match(scrape.headers.get("content-type") ?? "", /^application\/openmetrics-text/);
  const text = await scrape.text();
  const line = text.split("\n").find((each) => each.includes(`# {trace_id="${TRACE_ID}"}`));
  assert.match(line ?? "", /^countersign_exchange_seconds_bucket\{.*createApprovalRequest/);
  assert.match(text, /^# TYPE countersign_requests_created counter$/m);
  assert.match(text, /^countersign_requests_created_total 1$/m);
  assert.match(text, /# EOF\n$/);

  const plain = await (await fetch(`${server.url}/metrics`)).text();
  assert.match(plain, /^# TYPE countersign_requests_created_total counter$/m);
  assert.doesNotMatch(plain, /trace_id/);
});

test("[ours.telemetry.outage] decisions and webhooks continue without a collector, and the log has one warning for each outage", async (t) => {
  const receiver = await startOtlpReceiver(t);
  receiver.status = 400;
  const lines: string[] = [];
  const report = new Report("info", { write: (line) => void lines.push(line) });
  const events = (name: string) => lines.filter((line) => line.includes(`"event":"${name}"`));
  const scene = await startTracedScene(t, { collector: receiver.url, report });
  const decideOne = async () => {
    const { id } = await scene.server.submit(scene.token);
    assert.equal((await scene.server.decide(scene.reviewer, id, "approve")).status, 200);
  };
  await decideOne();
  const isDelivered = () => scene.notifications.some(({ path }) => path.startsWith("/hook"));
  await untilSeen(scene, isDelivered, "the webhook arrives");
  const before = receiver.exports;
  await untilSeen(scene, () => receiver.exports > before + 3, "several exports fail");
  assert.equal(events("telemetry.lost").length, 1);
  receiver.status = 200;
  await untilSeen(scene, () => events("telemetry.restored").length === 1, "exports succeed again");
  assert.equal(events("telemetry.lost").length, 1);
});

test("the package has the interface that the server expects", async () => {
  const module: TelemetryModule = await import("@countersign/telemetry");
  assert.equal(typeof module.startTelemetry, "function");
});
