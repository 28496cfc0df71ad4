import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../test/support/manual-clock.ts";
import { closeTelemetry } from "./telemetry.ts";
import type { Telemetry } from "./telemetry-interface.ts";

function telemetryThat(close: () => Promise<void>): Telemetry {
  return { startSpan: () => assert.fail("no span"), close };
}

function never(): Promise<void> {
  return new Promise(() => {});
}

test("[ours.telemetry.outage] a server waits 3 seconds for a collector that does not answer, and then stops", async () => {
  const clock = new ManualClock();
  let isClosed = false;
  const closing = closeTelemetry(telemetryThat(never), async () => {}, clock).then(() => {
    isClosed = true;
  });
  clock.advance(2_999);
  await Promise.resolve();
  assert.equal(isClosed, false);
  clock.advance(1);
  await closing;
});

test("[ours.telemetry.outage] spans of decisions that cannot be read delay the stop by 3 seconds at most", async () => {
  const clock = new ManualClock();
  const closing = closeTelemetry(telemetryThat(never), never, clock);
  clock.advance(3_000);
  await closing;
});

test("[ours.telemetry.outage] the last export starts after the spans of all decisions", async () => {
  const order: string[] = [];
  const telemetry = telemetryThat(async () => void order.push("export"));
  await closeTelemetry(telemetry, async () => void order.push("decisions"), new ManualClock());
  assert.deepEqual(order, ["decisions", "export"]);
});
