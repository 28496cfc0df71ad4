import assert from "node:assert/strict";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { systemClock } from "../src/clock.ts";
import { copyDeliveries } from "./support/deliveries.ts";
import { ManualClock } from "./support/manual-clock.ts";
import {
  attemptNext,
  denied,
  ManualMessages,
  notificationOf,
  pass,
  untilAttempted,
} from "./support/notifications.ts";
import { hideTables } from "./support/store-faults.ts";
import type { AnswerMessage } from "./support/tls-receiver.ts";
import { turns } from "./support/until.ts";
import {
  eventOf,
  OTHER_SECRET,
  outbox,
  provisionWithReceiver,
  startWebhookScene,
  tryUpdate,
  untilDelivered,
  type WebhookScene,
} from "./support/webhook-scene.ts";

const HOUR = 3_600_000;

const FAILING: AnswerMessage = (_, response) => response.writeHead(500).end();

/** The first receiver fails, the one that replaces it does not. */
const FAILING_BEFORE: AnswerMessage = ({ path }, response) => {
  response.writeHead(path === "/new" ? 204 : 500).end();
};

async function remove(scene: WebhookScene, id: string): Promise<void> {
  const { status, text } = await tryUpdate(scene, id, { delivery: null });
  assert.equal(status, 200, text);
}

async function replace(scene: WebhookScene, id: string, fields: object = {}): Promise<void> {
  const url = scene.receiver.url("/new");
  const { status, text } = await tryUpdate(scene, id, {
    delivery: scene.delivery({ url, ...fields }),
  });
  assert.equal(status, 200, text);
}

async function deleteInstance({ server, provisioner }: WebhookScene, id: string): Promise<void> {
  const { status } = await server.call("DELETE", `/v1/instances/${id}`, { token: provisioner });
  assert.equal(status, 204);
}

/** The two ways in which an instance loses its receiver, and what is recorded then. */
const ENDS = [
  { by: "removal", lose: remove },
  { by: "deletion", lose: deleteInstance },
] as const;

test("[delivery.update.queued-follow] queued notifications go to the new URL with the new secret, and attempts in flight keep the old URL", async (t) => {
  const manual = new ManualMessages();
  const scene = await startWebhookScene(t, {
    // The other implementation compares with the time of the machine.
    clock: new ManualClock(systemClock.now()),
    onNotification: (received, response) => {
      if (received.path === "/new") response.writeHead(202).end();
      else manual.receive(received, response);
    },
    settings: { webhook_host_in_flight_max: "2" },
  });
  const instance = await provisionWithReceiver(scene);
  const requests = [await denied(scene, instance.token)];
  await untilDelivered(scene, () => manual.arrived === 1, "one is in flight");
  manual.answer(0, 500);
  await untilAttempted(scene, { id: requests[0]?.id ?? "" }, 1);
  for (let i = 0; i < 12; i++) requests.push(await denied(scene, instance.token));
  await untilDelivered(scene, () => manual.arrived === 3, "two are in flight");
  const before = await outbox(scene);
  const inFlight = scene.notifications.slice(1).map((received) => eventOf(received).request_id);
  // A place for the verification.
  manual.answer(1, 503);

  await replace(scene, instance.id, { signing_secret: OTHER_SECRET });
  manual.answer(2, 204);
  for (const request of requests) {
    let row = await notificationOf(scene, request);
    while (row.ended_at === null) row = await attemptNext(scene, request);
    assert.equal(row.ended_by, "acknowledged");
  }
  const after = await outbox(scene);
  const same = ({ id, body, created_at }: (typeof after)[number]) => ({ id, body, created_at });
  assert.deepEqual(after.map(same), before.map(same));
  const atNew = scene.notifications.filter(({ path }) => path === "/new");
  assert.equal(atNew.length, requests.length - 1);
  assert.equal(manual.arrived, 3);
  for (const received of atNew) {
    const { id, request_id } = eventOf(received);
    assert.notEqual(request_id, inFlight[1]);
    const row = before.find((each) => each.id === id);
    assert.equal(received.body.toString(), row?.body);
    const headers = received.headers as Record<string, string>;
    new Webhook(OTHER_SECRET).verify(received.body.toString(), headers);
  }
});

for (const { by, lose } of ENDS) {
  test(`[event.retry.ended] [delivery.delete.ends] [delivery.update.removes] after a ${by} no earlier notification is attempted`, async (t) => {
    const scene = await startWebhookScene(t, { onNotification: FAILING });
    const instance = await provisionWithReceiver(scene);
    const requests = [];
    for (let i = 0; i < 4; i++) requests.push(await denied(scene, instance.token));
    for (const request of requests) await untilAttempted(scene, request, 1);
    await lose(scene, instance.id);
    const sent = scene.notifications.length;
    const endedAt = scene.clock.now();
    await pass(scene, 3 * HOUR, HOUR / 8);
    for (const row of await outbox(scene)) {
      assert.deepEqual([row.ended_by, row.ended_at, row.next_at], [by, endedAt, null]);
    }
    assert.equal(scene.notifications.length, sent);
  });

  test(`[event.retry.ended] a ${by} during an attempt lets it arrive, and whatever comes of it there is no other`, async (t) => {
    for (const status of [204, 500, undefined]) {
      const manual = new ManualMessages();
      const scene = await startWebhookScene(t, { onNotification: manual.receive });
      const instance = await provisionWithReceiver(scene);
      const request = await denied(scene, instance.token);
      await untilDelivered(scene, () => manual.arrived === 1, "an attempt is in flight");
      await lose(scene, instance.id);
      await pass(scene, 3_000);
      if (status === undefined) await pass(scene, 6_000);
      else manual.answer(0, status);
      const row = await untilAttempted(scene, request, 1);
      assert.deepEqual([row.ended_by, row.next_at], [by, null]);
      assert.equal(row.ended_at, scene.clock.now(), "it ended with the attempt");
      await pass(scene, HOUR, HOUR / 8);
      assert.equal(manual.arrived, 1);
    }
  });

  test(`[event.retry.ended] after a ${by} nothing is sent that was still being looked up`, async (t) => {
    const lookup = Promise.withResolvers<string[]>();
    let isHeld = false;
    const resolver = {
      resolve: async () => (isHeld ? lookup.promise : ["127.0.0.1"]),
    };
    const scene = await startWebhookScene(t, { resolver });
    const { id, token } = await provisionWithReceiver(scene);
    isHeld = true;
    const request = await denied(scene, token);
    const isClaimed = async () => (await notificationOf(scene, request)).claimed_until !== null;
    await untilDelivered(scene, isClaimed, "the attempt begins");
    const { connections } = scene.receiver;

    await lose(scene, id);
    lookup.resolve(["127.0.0.1"]);

    const isOver = async () => (await notificationOf(scene, request)).claimed_until === null;
    await untilDelivered(scene, isOver, "the attempt is over");
    const { ended_by, attempts } = await notificationOf(scene, request);
    assert.deepEqual([ended_by, attempts], [by, 0]);
    assert.equal(scene.receiver.connections, connections);
    assert.equal(scene.notifications.length, 0);
  });

  test(`[event.retry.ended] a ${by} that was interrupted is finished by the worker, without another attempt`, async (t) => {
    const scene = await startWebhookScene(t, { onNotification: FAILING });
    const instance = await provisionWithReceiver(scene);
    const request = await denied(scene, instance.token);
    await untilAttempted(scene, request, 1);
    // The receiver is gone, and then the ends cannot be written.
    const show = await hideTables(scene.server, "notification");
    await assert.rejects(lose(scene, instance.id));
    await show();
    await turns();
    assert.equal((await notificationOf(scene, request)).ended_at, null);
    const { ended_by, attempts } = await attemptNext(scene, request);
    assert.deepEqual([ended_by, attempts], [by, 1]);
    assert.equal(scene.notifications.length, 1);
  });
}

test("[delivery.update.ended-stay-ended] a new receiver gets no notification with an ended delivery, and gets every later one", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: FAILING_BEFORE });
  const instance = await provisionWithReceiver(scene);
  const before = await denied(scene, instance.token);
  await untilAttempted(scene, before, 1);
  const between = await scene.server.submit(instance.token);
  await remove(scene, instance.id);
  await scene.server.decide(scene.reviewer, between.id, "deny");
  await replace(scene, instance.id);
  const after = await denied(scene, instance.token);
  await untilAttempted(scene, after, 1);
  await pass(scene, 3 * HOUR, HOUR / 8);
  assert.deepEqual(
    scene.notifications.map((received) => [received.path, eventOf(received).request_id]),
    [
      ["/hook?team=a", before.id],
      ["/new", after.id],
    ],
  );
  assert.equal((await notificationOf(scene, before)).ended_by, "removal");
});

test("[delivery.update.ended-stay-ended] not even when the end of it was not recorded before the new receiver came", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: FAILING_BEFORE });
  const instance = await provisionWithReceiver(scene);
  const before = await denied(scene, instance.token);
  await untilAttempted(scene, before, 1);
  const show = await hideTables(scene.server, "notification");
  await assert.rejects(remove(scene, instance.id));
  await show();
  await replace(scene, instance.id);
  const after = await denied(scene, instance.token);
  await untilAttempted(scene, after, 1);
  const isEnded = async () => (await notificationOf(scene, before)).ended_by === "removal";
  await untilDelivered(scene, isEnded, "the end is recorded");
  assert.deepEqual(
    scene.notifications.map((received) => eventOf(received).request_id),
    [before.id, after.id],
  );
});

test("[event.retry.ended] of more than a transaction holds, all ends with the answer to the removal", async (t) => {
  const manual = new ManualMessages();
  const scene = await startWebhookScene(t, { onNotification: manual.receive });
  const instance = await provisionWithReceiver(scene);
  const request = await denied(scene, instance.token);
  const original = await notificationOf(scene, request);
  const copies = Array.from({ length: 1_100 }, () => ({}));
  await copyDeliveries(scene.server, original, copies);
  await untilDelivered(scene, () => manual.arrived === 4, "four are in flight");
  await remove(scene, instance.id);
  const rows = await outbox(scene);
  assert.equal(rows.length, 1_101);
  assert.ok(rows.every(({ ended_by, next_at }) => ended_by === "removal" && next_at === null));
  for (const index of [0, 1, 2, 3]) manual.answer(index, 500);
  await pass(scene, 20_000, 500);
  assert.equal(manual.arrived, 4);
});

test("[event.retry.ended] [event.retry.one-outstanding] removals, replacements, decisions and attempts at the same time", async (t) => {
  const seen = new Map<string, number>();
  const scene = await startWebhookScene(t, {
    onNotification: (received, response) => {
      const { id } = eventOf(received);
      seen.set(id, (seen.get(id) ?? 0) + 1);
      response.writeHead(/[0-7]$/.test(id) ? 204 : 500).end();
    },
  });
  const instance = await provisionWithReceiver(scene);
  for (let round = 0; round < 12; round++) {
    const decisions = [1, 2, 3].map(() => denied(scene, instance.token));
    scene.clock.advance(round * 250);
    const change = round % 3 === 2 ? replace(scene, instance.id) : remove(scene, instance.id);
    scene.clock.advance(0);
    await Promise.all([...decisions, change]);
  }
  await remove(scene, instance.id);
  const isOver = async () => (await outbox(scene)).every(({ claimed_until }) => !claimed_until);
  await untilDelivered(scene, isOver, "nothing is in flight");
  const ended = await outbox(scene);
  const sent = new Map(seen);
  await pass(scene, HOUR, HOUR / 8);
  assert.deepEqual(await outbox(scene), ended);
  assert.deepEqual(seen, sent);
  for (const { id, attempts, ended_by, ended_at } of ended) {
    assert.ok(ended_at !== null && (ended_by === "removal" || ended_by === "acknowledged"));
    assert.equal(seen.get(id) ?? 0, attempts);
  }
});
