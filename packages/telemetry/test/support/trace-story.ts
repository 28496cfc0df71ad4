/** One call, from the span of the agent to the webhook, and the check that it is one trace. */

import assert from "node:assert/strict";
import { Countersign } from "@countersign/sdk";
import type { OtlpReceiver, ReceivedSpan } from "../../../server/test/support/otlp-receiver.ts";
import { enforce, policyOf } from "../../../server/test/support/policies.ts";
import type { Lifetime } from "../../../server/test/support/test-provider.ts";
import { approveNext, startApplication, startTracedScene, untilSeen } from "./traced-scene.ts";

/** OTLP numbers of the kinds. */
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];

const SECRETS = ["card 4111", "because of reasons", "a note for reviewers", "/srv/secret"];

/**
 * @param receiver receives what the collector exports
 * @param collector base URL for the exporters; the receiver itself, or a collector before it
 */
export async function playTraceStory(
  t: Lifetime,
  receiver: OtlpReceiver,
  collector: string,
): Promise<void> {
  const scene = await startTracedScene(t, { collector });
  const note = SECRETS[2];
  await enforce(
    scene.server,
    policyOf(`{ id: payments, match: { tool: pay }, then: ask, note: "${note}" }`),
  );
  const tracer = startApplication(t, collector);
  const approvals = new Countersign({ url: scene.server.url, apiKey: scene.token, logger: false });
  const call = tracer.startActiveSpan("execute_tool pay", async (span) => {
    const result = await approvals.run(
      {
        tool: "pay",
        arguments: { to: SECRETS[0] },
        reasoning: SECRETS[1],
        context: { call_id: "call-7", session_id: "session-3", cwd: SECRETS[3] },
      },
      () => "paid",
    );
    span.end();
    return { result, traceId: span.spanContext().traceId, spanId: span.spanContext().spanId };
  });
  // A decision before the message would make it obsolete.
  const isNotified = () => scene.notifications.some(({ path }) => path === "/team");
  await untilSeen(scene, isNotified, "the channel receives a message");
  const requestId = await approveNext(scene);
  const { result, traceId, spanId } = await call;
  assert.equal(result.status, "executed");
  const names = [
    "execute_tool pay",
    "countersign.create",
    "countersign.evaluate_policy",
    "countersign.decide",
    "countersign.deliver",
    "countersign.notify",
  ];
  for (const name of names) {
    await untilSeen(scene, () => receiver.named(name).length > 0, `a span ${name} arrives`);
  }

  const spans = names.map((name) => receiver.named(name)[0] as ReceivedSpan);
  assert.deepEqual(
    spans.map((span) => [span.name, span.traceId]),
    names.map((name) => [name, traceId]),
  );
  const [, create, policy, decide, deliver, notify] = spans as [
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
    ReceivedSpan,
  ];
  assert.equal(create.parentSpanId, spanId);
  for (const child of [policy, decide, deliver, notify]) {
    assert.equal(child.parentSpanId, create.spanId, child.name);
  }
  assert.deepEqual(
    [create, policy, decide, deliver, notify].map(({ kind }) => kind),
    [SERVER, INTERNAL, INTERNAL, CLIENT, CLIENT],
  );
  assert.equal(create.attributes["gen_ai.operation.name"], "execute_tool");
  assert.equal(create.attributes["gen_ai.tool.name"], "pay");
  assert.equal(create.attributes["gen_ai.tool.call.id"], "call-7");
  assert.equal(create.attributes["gen_ai.conversation.id"], "session-3");
  assert.equal(create.attributes["countersign.request.id"], requestId);
  assert.deepEqual(policy.attributes["countersign.policy.rules"], ["payments"]);
  assert.equal(decide.attributes["countersign.decision"], "approved");
  assert.match(String(decide.attributes["countersign.decided_by"]), /^reviewer:/);
  assert.equal(deliver.attributes["countersign.outcome"], "acknowledged");
  assert.equal(notify.attributes["countersign.channel.id"], scene.channelId);
  assert.ok(decide.endedAt >= decide.startedAt);

  const webhook = scene.notifications.find(({ path }) => path.startsWith("/hook"));
  assert.equal(webhook?.headers.traceparent, `00-${traceId}-${deliver.spanId}-01`);
  for (const secret of SECRETS) {
    assert.equal(JSON.stringify(receiver.spans).includes(secret), false, secret);
  }
}
