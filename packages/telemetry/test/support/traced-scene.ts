/**
 * A server that exports to an OTLP receiver, with a webhook receiver and a notification channel,
 * and an application with OpenTelemetry that calls tools through the SDK.
 */

import assert from "node:assert/strict";
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { Report } from "../../../server/src/report.ts";
import { newChannel } from "../../../server/test/support/channel-scene.ts";
import { ManualClock } from "../../../server/test/support/manual-clock.ts";
import type { Lifetime } from "../../../server/test/support/test-provider.ts";
import { until } from "../../../server/test/support/until.ts";
import {
  provisionWithReceiver,
  startWebhookScene,
  type WebhookScene,
} from "../../../server/test/support/webhook-scene.ts";

/** Variables of the SDK: short pauses, so that a test waits for no timer of seconds. */
const SHORT_PAUSES = { OTEL_BSP_SCHEDULE_DELAY: "5", OTEL_METRIC_EXPORT_INTERVAL: "100" };

export interface TracedScene extends WebhookScene {
  /** The credential of an instance with a webhook. */
  readonly token: string;
  readonly channelId: string;
}

export interface TracedOptions {
  /** Base URL of the collector. */
  readonly collector: string;
  readonly report?: Report;
}

export async function startTracedScene(
  t: Lifetime,
  { collector, ...parts }: TracedOptions,
): Promise<TracedScene> {
  setEnvironment(t, { ...SHORT_PAUSES, OTEL_EXPORTER_OTLP_ENDPOINT: collector });
  // The SDK for agents compares the expiry with the clock of this machine.
  const clock = new ManualClock(Date.now());
  const scene = await startWebhookScene(t, { ...parts, clock, settings: { telemetry: "otlp" } });
  const admin = await scene.server.token({ kind: "reviewer", name: "admin", role: "admin" });
  const { id: channelId } = await newChannel({ ...scene, admin }, "team");
  const { token } = await provisionWithReceiver(scene);
  return { ...scene, token, channelId };
}

/** Sets variables of this process until the end of the test. */
export function setEnvironment(t: Lifetime, variables: Readonly<Record<string, string>>): void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
}

/** Registers the OpenTelemetry SDK as an application does, and exports to the same collector. */
export function startApplication(t: Lifetime, collector: string) {
  const exporter = new OTLPTraceExporter({ url: `${collector}/v1/traces` });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "agent" }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  t.after(async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
    propagation.disable();
  });
  return trace.getTracer("agent");
}

/** Approves the pending request as soon as there is one. */
export async function approveNext({ server, reviewer, clock }: TracedScene): Promise<string> {
  let id: string | undefined;
  await until(async () => {
    clock.advance(0);
    const path = "/review/v1/requests";
    const list = await server.call<{ requests: { id: string }[] }>("GET", path, {
      token: reviewer,
    });
    id = list.json.requests[0]?.id;
    return id !== undefined;
  }, "a request is pending");
  assert.ok(id);
  const answer = await server.decide(reviewer, id, "approve");
  assert.equal(answer.status, 200, answer.text);
  return id;
}

/** Lets the server work at the clock's time until the condition holds. */
export async function untilSeen(
  { clock }: Pick<TracedScene, "clock">,
  condition: () => boolean,
  what: string,
): Promise<void> {
  await until(() => {
    clock.advance(0);
    return condition();
  }, what);
}
