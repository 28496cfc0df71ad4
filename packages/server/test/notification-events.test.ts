import assert from "node:assert/strict";
import { test } from "node:test";
import type { TerminalStatus } from "@countersign/protocol";
import { Webhook } from "standardwebhooks";
import { systemClock } from "../src/clock.ts";
import { assertRefused } from "./support/envelope.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { denied, notificationOf, pass } from "./support/notifications.ts";
import { cancel, end, storedStatus, submitBody, TERMINAL, untilStored } from "./support/scene.ts";
import { hideTables } from "./support/store-faults.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";
import {
  eventOf,
  OTHER_SECRET,
  outbox,
  provisionWithReceiver,
  SIGNING_SECRET,
  startWebhookScene,
  tryUpdate,
  untilDelivered,
  type WebhookScene,
} from "./support/webhook-scene.ts";

async function untilNotified(scene: WebhookScene, count: number): Promise<void> {
  const hasCome = () => scene.notifications.length >= count;
  await untilDelivered(scene, hasCome, `${count} notifications arrive`);
}

/** Operations that could cause a second event of a resolved request. */
async function readAndCancel({ server }: WebhookScene, token: string, id: string): Promise<void> {
  await server.read(token, id);
  await server.read(token, id, "?wait=30s");
  await cancel(server, token, id);
}

test("[event.emitted] every terminal status has exactly one event, also after replays", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, reviewer, notifications } = scene;
  const instance = { ...(await provisionWithReceiver(scene)), provisioner: scene.provisioner };
  const ended = new Map<TerminalStatus, string>();
  for (const status of TERMINAL) {
    const request = await server.submit(instance.token);
    const { id } = await end({ ...scene, instance }, request, status);
    ended.set(status, id);
    await untilNotified(scene, ended.size);
    await readAndCancel(scene, instance.token, id);
    for (const verdict of ["approve", "deny"] as const) await server.decide(reviewer, id, verdict);
  }
  await pass(scene, 3_000);
  assert.equal(notifications.length, TERMINAL.length);
  assert.deepEqual(
    notifications.map((received) => eventOf(received).request_id),
    [...ended.values()],
  );
  const rows = await outbox(scene);
  assert.deepEqual(new Set(rows.map((row) => row.request_id)), new Set(ended.values()));
});

test("[event.emitted] the worker emits the event of an expired request without a read", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, clock } = scene;
  const { token } = await provisionWithReceiver(scene);
  const requests = await Promise.all(
    Array.from({ length: 30 }, () => server.submit(token, { timeout: "10s" })),
  );
  clock.advance(10_000);
  await untilNotified(scene, requests.length);
  const notified = scene.notifications.map((received) => eventOf(received).request_id);
  assert.deepEqual(notified.toSorted(), requests.map(({ id }) => id).toSorted());
});

test("[event.emitted] and from a reader that reads before the worker runs", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, clock, notifications } = scene;
  const { token } = await provisionWithReceiver(scene);
  const { id, deadline_at } = await server.submit(token);
  // No timer fires, so the worker does not expire the request yet.
  clock.set(Date.parse(deadline_at));
  assert.equal((await server.read(token, id)).status, "expired");
  assert.equal((await outbox(scene)).length, 1);
  await untilNotified(scene, 1);
  await pass(scene, 3_000);
  assert.equal(notifications.length, 1);
});

test("[event.receiver-only] an instance without a receiver has no events, and a later receiver gets no earlier event", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, reviewer } = scene;
  const { instance, credential } = await server.provision(scene.provisioner);
  const before = await server.submit(credential.token);
  const after = await server.submit(credential.token);
  await server.decide(reviewer, before.id, "approve");
  assert.deepEqual(await outbox(scene), []);

  const updated = await tryUpdate(scene, instance.id, { delivery: scene.delivery() });
  assert.equal(updated.status, 200, updated.text);
  await server.decide(reviewer, after.id, "approve");
  await untilNotified(scene, 1);
  await pass(scene, 3_000);
  assert.deepEqual(
    scene.notifications.map((received) => eventOf(received).request_id),
    [after.id],
  );
});

test("[event.emitted] [delivery.delete.ends] [instance.delete.no-decision] the deletion of an instance sends no events for its pending requests", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, clock } = scene;
  const instance = await provisionWithReceiver(scene);
  const timeouts = Array.from({ length: 510 }, (_, i) => ({ timeout: i % 2 ? "10s" : "1h" }));
  const requests = await Promise.all(
    timeouts.map((fields) => server.submit(instance.token, fields)),
  );
  // Half of them are overdue, and the worker has not expired them yet.
  clock.set(clock.now() + 20_000);
  const path = `/v1/instances/${instance.id}`;
  const { status } = await server.call("DELETE", path, { token: scene.provisioner });
  assert.equal(status, 204);
  assert.deepEqual(
    [
      await storedStatus(scene, requests[0]?.id ?? ""),
      await storedStatus(scene, requests[1]?.id ?? ""),
    ],
    ["cancelled", "cancelled"],
  );
  await pass(scene, 3_000);
  assert.deepEqual(await outbox(scene), []);
  assert.equal(scene.notifications.length, 0);
});

test("[delivery.request.replay-silent] a replayed submission makes no further notification, pending or ended", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, reviewer } = scene;
  const { token } = await provisionWithReceiver(scene);
  const { json } = await submitBody(server, token, SUBMISSION, "one");
  assert.equal((await submitBody(server, token, SUBMISSION, "one")).status, 200);
  await server.decide(reviewer, json.id, "approve");
  await untilNotified(scene, 1);
  for (const _ of [1, 2, 3]) {
    const replay = await submitBody(server, token, SUBMISSION, "one");
    assert.deepEqual([replay.status, replay.json.status], [200, "approved"]);
  }
  await pass(scene, 3_000);
  assert.equal((await outbox(scene)).length, 1);
  assert.equal(scene.notifications.length, 1);
});

test("[event.body] [event.id] [event.created-at] an event has five fields, the decision's time and the webhook-id", async (t) => {
  const scene = await startWebhookScene(t);
  const instance = await provisionWithReceiver(scene);
  scene.clock.advance(12_345);
  const { id, decision } = await denied(scene, instance.token);
  await untilNotified(scene, 1);
  const [received] = scene.notifications;
  assert.ok(received);
  const event = eventOf(received);
  assert.deepEqual(event, {
    id: received.headers["webhook-id"],
    type: "request.resolved",
    instance_id: instance.id,
    request_id: id,
    created_at: decision?.decided_at,
  });
  assert.match(event.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set([event.id, event.request_id, event.instance_id]).size, 3);
});

test("[delivery.url.exact] [signature.headers] [signature.value] [signature.no-credentials] a notification is a signed POST to the exact URL, and says nothing else", async (t) => {
  // The other implementation compares with the time of the machine.
  const scene = await startWebhookScene(t, { clock: new ManualClock(systemClock.now()) });
  const { token } = await provisionWithReceiver(scene);
  await denied(scene, token);
  await untilNotified(scene, 1);
  const [received] = scene.notifications;
  assert.ok(received);
  const { method, path, headers, body } = received;
  assert.deepEqual([method, path], ["POST", "/hook?team=a"]);
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["webhook-timestamp"], String(Math.floor(scene.clock.now() / 1000)));
  assert.deepEqual(Object.keys(headers).toSorted(), [
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
  ]);
  const signed = headers as Record<string, string>;
  assert.deepEqual(new Webhook(SIGNING_SECRET).verify(body.toString(), signed), eventOf(received));
  assert.throws(() => new Webhook(OTHER_SECRET).verify(body.toString(), signed));
  const message = JSON.stringify(headers) + body;
  for (const secret of [token, scene.provisioner, scene.reviewer, SIGNING_SECRET, "deploy"]) {
    assert.equal(message.includes(secret), false, `it says ${secret}`);
  }
});

test("[delivery.request.recorded-together] when the notification cannot be written, the decision is not recorded either", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, clock, reviewer } = scene;
  const { token } = await provisionWithReceiver(scene);
  const { id } = await server.submit(token);
  const late = await server.submit(token, { timeout: "2s" });
  const show = await hideTables(server, "notification");
  assert.equal((await server.decide(reviewer, id, "approve")).status, 500);
  assert.equal((await server.decide(reviewer, id, "deny")).status, 500);
  assertRefused(await cancel(server, token, id), 500, "internal");
  clock.advance(2_000);
  await turns();
  assert.equal(await storedStatus(scene, late.id), "pending");
  await show();
  await turns();
  assert.equal(await storedStatus(scene, id), "pending");
  assert.deepEqual(await outbox(scene), []);

  assert.equal((await server.decide(reviewer, id, "approve")).status, 200);
  clock.advance(1_000);
  await untilStored(scene, late.id, "expired");
  await untilNotified(scene, 2);
  await notificationOf(scene, { id });
});

test("[delivery.request.recorded-together] a decision that cannot be recorded sends no event", async (t) => {
  const scene = await startWebhookScene(t);
  const { server, reviewer } = scene;
  const { token } = await provisionWithReceiver(scene);
  const { id } = await server.submit(token);
  // It is written after the notification, in the same transaction.
  const show = await hideTables(server, "audit_entry");
  assert.equal((await server.decide(reviewer, id, "approve")).status, 500);
  assertRefused(await cancel(server, token, id), 500, "internal");
  await show();
  await pass(scene, 3_000);
  assert.deepEqual(await outbox(scene), []);
  assert.equal(scene.notifications.length, 0);
  assert.equal(await storedStatus(scene, id), "pending");
});
