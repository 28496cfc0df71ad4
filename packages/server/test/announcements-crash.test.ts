// Tier: slow
/**
 * Notifications continue after `kill -9`.
 */

import assert from "node:assert/strict";
import { Agent, exchange, makeToken, provision } from "@countersign/testing/agents";
import { eventually } from "@countersign/testing/eventually";
import { testOnly } from "./support/engine.ts";
import { arrived, startWebhookServer } from "./support/webhook-server.ts";

const test = testOnly("sqlite", "leases of a dead replica end by time");

test("[ours.notify.crash] after kill -9, the interrupted notification is sent again under the same id, and the queued one is sent", async (t) => {
  const webhooks = await startWebhookServer(t, ["--reviewer-rate", "0"]);
  const { server, receiver } = webhooks;
  const admin = await makeToken(server.data, { kind: "reviewer", role: "admin" });
  const body = { name: "hook", kind: "webhook", url: receiver.url("/hook") };
  const made = await exchange("POST", `${server.url}/review/v1/channels`, admin, body);
  assert.equal(made.status, 201, made.text);
  const { credential } = await provision(server, webhooks.provisioner);
  const agent = new Agent(server.url, credential.token);
  webhooks.onNotification = () => {};
  await agent.submit({ tool: "reading", timeout: "10m" });
  const first = await arrived(webhooks, 1);
  await agent.submit({ tool: "waiting", timeout: "20m" });
  await webhooks.server.kill();
  await first.over;

  webhooks.onNotification = ({ answer }) => void answer(204);
  await webhooks.restart();

  const again = await arrived(webhooks, 2);
  await arrived(webhooks, 3);
  assert.equal(again.id, first.id);
  assert.deepEqual(
    webhooks.notifications.map(({ body: each }) => JSON.parse(each).request.tool),
    ["reading", "reading", "waiting"],
  );
  await eventually("two messages that are counted", async () => {
    const { text } = await exchange("GET", `${webhooks.server.url}/metrics`);
    const counted = 'countersign_announcements_total{kind="webhook",outcome="sent"} 2';
    return text.includes(counted) ? true : undefined;
  });
});
