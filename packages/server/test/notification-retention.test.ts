import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import {
  attemptNext,
  ManualMessages,
  notificationOf,
  pass,
  reach,
  restartWebhooks,
  untilAttempted,
} from "./support/notifications.ts";
import { storedStatus, submitBody, untilStored } from "./support/scene.ts";
import { hideTables } from "./support/store-faults.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import type { AnswerMessage } from "./support/tls-receiver.ts";
import {
  outbox,
  provisionWithReceiver,
  startWebhookScene,
  tryUpdate,
  untilDelivered,
  type WebhookScene,
} from "./support/webhook-scene.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WINDOW = 168 * HOUR;

/** Longer than the retention worker sleeps. */
const WORKER_PAUSE = 10 * MINUTE;

interface Decided extends WebhookScene {
  readonly instance: { readonly id: string; readonly token: string };
  readonly request: ApprovalRequest;
  readonly decidedAt: number;
}

const KEY = "kept";

/** A request that was denied right now. */
async function startDecided(t: TestContext, onNotification: AnswerMessage): Promise<Decided> {
  const scene = await startWebhookScene(t, { onNotification });
  const instance = await provisionWithReceiver(scene);
  const { json } = await submitBody(scene.server, instance.token, SUBMISSION, KEY);
  await scene.server.decide(scene.reviewer, json.id, "deny");
  const request = await scene.server.read(instance.token, json.id);
  const decidedAt = Date.parse(request.decision?.decided_at ?? "");
  return { ...scene, instance, request, decidedAt };
}

/** Moves time there, with turns for the workers on the way. */
async function passUntil(scene: WebhookScene, at: number): Promise<void> {
  const left = at - scene.clock.now();
  await pass(scene, left, Math.max(250, Math.ceil(left / 40)));
}

/** Request, key and event, as everybody may ask for them. */
async function assertKept(scene: Decided): Promise<void> {
  const { server, request, instance } = scene;
  assert.deepEqual(await server.read(instance.token, request.id), request);
  const replay = await submitBody(server, instance.token, SUBMISSION, KEY);
  assert.deepEqual([replay.status, replay.json.id], [200, request.id]);
  assert.equal((await outbox(scene)).length, 1);
}

async function untilPurged(scene: Decided): Promise<void> {
  await untilStored(scene, scene.request.id, undefined);
  assert.deepEqual(await outbox(scene), []);
}

/** The rows are kept until `at`, and purged soon after. */
async function assertPurgedAfter(scene: Decided, at: number): Promise<void> {
  await passUntil(scene, at - 1);
  await assertKept(scene);
  await passUntil(scene, at + WORKER_PAUSE);
  await untilPurged(scene);
}

test("[event.retention] a notification acknowledged at once is kept for 168 hours from the decision", async (t) => {
  const scene = await startDecided(t, (_, response) => response.writeHead(204).end());
  await untilAttempted(scene, scene.request, 1);
  await assertPurgedAfter(scene, scene.decidedAt + WINDOW);
  const fresh = await submitBody(scene.server, scene.instance.token, SUBMISSION, KEY);
  assert.equal(fresh.status, 201);
});

test("[event.retention] [delivery.request.retention] a notification acknowledged late is kept for 24 hours from then", async (t) => {
  const wanted = { "retry-after": String(160 * 3_600) };
  let answered = 0;
  const scene = await startDecided(t, (_, response) => {
    if (answered++ === 0) response.writeHead(503, wanted).end();
    else response.writeHead(204).end();
  });
  await untilAttempted(scene, scene.request, 1);
  const { ended_at, ended_by } = await attemptNext(scene, scene.request);
  assert.ok(ended_by === "acknowledged" && ended_at !== null);
  assert.ok(ended_at >= scene.decidedAt + 160 * HOUR);
  await assertPurgedAfter(scene, ended_at + DAY);
});

test("[event.retention] [delivery.request.retention] a notification that was never acknowledged is kept for 24 hours after the window", async (t) => {
  const wanted = { "retry-after": "999999999" };
  const scene = await startDecided(t, (_, response) => response.writeHead(503, wanted).end());
  await untilAttempted(scene, scene.request, 1);
  await assertPurgedAfter(scene, scene.decidedAt + WINDOW + DAY);
});

test("[event.retention.in-flight] after a removal during an attempt the 24 hours start when the attempt ends, and not before", async (t) => {
  const manual = new ManualMessages();
  const wanted = { "retry-after": String(150 * 3_600) };
  let isFirst = true;
  const scene = await startDecided(t, (received, response) => {
    if (isFirst) response.writeHead(503, wanted).end();
    else manual.receive(received, response);
    isFirst = false;
  });
  const { next_at } = await untilAttempted(scene, scene.request, 1);
  await reach(scene, next_at ?? 0);
  await untilDelivered(scene, () => manual.arrived === 1, "an attempt is in flight");
  const removedAt = scene.clock.now();
  const update = await tryUpdate(scene, scene.instance.id, { delivery: null });
  assert.equal(update.status, 200);
  await pass(scene, 5_000);
  manual.answer(0, 204);
  const { ended_at, ended_by } = await untilAttempted(scene, scene.request, 2);
  assert.equal(ended_by, "removal");
  assert.equal(ended_at, removedAt + 5_000);
  await assertPurgedAfter(scene, ended_at + DAY);
});

test("[event.retention.in-flight] the attempt of a server that died counts until its lease would have ended", async (t) => {
  const manual = new ManualMessages();
  const scene = await startDecided(t, manual.receive);
  await untilDelivered(scene, () => manual.arrived === 1, "an attempt is in flight");
  const { claimed_until } = await notificationOf(scene, scene.request);
  const update = await tryUpdate(scene, scene.instance.id, { delivery: null });
  assert.equal(update.status, 200);
  const { ended_at } = await notificationOf(scene, scene.request);
  assert.ok(ended_at !== null && ended_at === claimed_until && ended_at > scene.clock.now());
});

test("[event.retention] an unrecorded end of a delivery does not prevent the purge", async (t) => {
  const scene = await startDecided(t, (_, response) => response.writeHead(500).end());
  await untilAttempted(scene, scene.request, 1);
  const off = await restartWebhooks(t, scene, { webhooks_off: "true" });
  const later = { ...scene, ...off };
  await passUntil(later, scene.decidedAt + WINDOW + DAY);
  await assertKept(later);
  await passUntil(later, scene.decidedAt + WINDOW + DAY + MINUTE + WORKER_PAUSE);
  await untilPurged(later);
});

test("[event.retention] request, key and event are purged together or not at all", async (t) => {
  const scene = await startDecided(t, (_, response) => response.writeHead(204).end());
  await untilAttempted(scene, scene.request, 1);
  await passUntil(scene, scene.decidedAt + WINDOW - 1);
  const show = await hideTables(scene.server, "consumption");
  await pass(scene, 2 * WORKER_PAUSE, MINUTE);
  await show();
  await pass(scene, 0);
  assert.equal(await storedStatus(scene, scene.request.id), "denied");
  assert.equal((await outbox(scene)).length, 1);
  await passUntil(scene, scene.clock.now() + WORKER_PAUSE);
  await untilPurged(scene);
});
