import assert from "node:assert/strict";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import type { Instance, WebhookVerification } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import {
  attemptNext,
  denied,
  ManualMessages,
  notificationOf,
  pass,
  reach,
  restartWebhooks,
  untilAttempted,
} from "./support/notifications.ts";
import { startRawReceiver } from "./support/raw-receiver.ts";
import { hideTables } from "./support/store-faults.ts";
import { TableResolver } from "./support/test-egress.ts";
import type { AnswerMessage } from "./support/tls-receiver.ts";
import { turns, until } from "./support/until.ts";
import {
  eventOf,
  outbox,
  provisionWithReceiver,
  startWebhookScene,
  tryProvision,
  tryUpdate,
  untilDelivered,
  type WebhookScene,
} from "./support/webhook-scene.ts";

const HOUR = 3_600_000;

/** Answers in turn with these, and at last always with the last one. */
function inTurn(...statuses: readonly number[]): AnswerMessage {
  let answered = 0;
  return (_, response) => {
    const status = statuses[Math.min(answered++, statuses.length - 1)] ?? 204;
    response.writeHead(status, status < 400 && status >= 300 ? { location: "/elsewhere" } : {});
    response.end();
  };
}

async function waitingGauge({ server }: WebhookScene): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^countersign_deliveries_waiting (\d+)$/m.exec(text)?.[1]);
}

for (const status of [200, 201, 202, 204, 299]) {
  test(`[event.acknowledged] ${status} ends delivery`, async (t) => {
    const scene = await startWebhookScene(t, { onNotification: inTurn(status) });
    const { token } = await provisionWithReceiver(scene);
    const request = await denied(scene, token);
    const row = await untilAttempted(scene, request, 1);
    assert.deepEqual(
      [row.ended_by, row.ended_at, row.next_at, row.last_outcome, row.last_status],
      ["acknowledged", scene.clock.now(), null, "acknowledged", status],
    );
    await pass(scene, 2 * HOUR, HOUR / 4);
    assert.equal(scene.notifications.length, 1);
  });
}

for (const status of [300, 301, 304, 307, 400, 401, 404, 410, 429, 500, 503]) {
  test(`[event.acknowledged] [event.retry.repeated] [delivery.url.no-redirects] ${status} does not, it is tried again, and no redirect is followed`, async (t) => {
    const scene = await startWebhookScene(t, { onNotification: inTurn(status, 204) });
    const { token } = await provisionWithReceiver(scene);
    const request = await denied(scene, token);
    const failed = await untilAttempted(scene, request, 1);
    assert.deepEqual(
      [failed.ended_by, failed.last_outcome, failed.last_status],
      [null, "rejected", status],
    );
    assert.ok((failed.next_at ?? 0) > scene.clock.now());
    const { ended_by } = await attemptNext(scene, request);
    assert.equal(ended_by, "acknowledged");
    assert.deepEqual(
      scene.notifications.map(({ path }) => path),
      ["/hook?team=a", "/hook?team=a"],
    );
  });
}

/** Answers the verification, then every notification as the test specifies. */
async function startRawScene(
  t: Parameters<typeof startRawReceiver>[0],
  answer: (socket: TLSSocket, ordinal: number) => void,
): Promise<{ scene: WebhookScene; messages: string[]; token: string }> {
  const messages: string[] = [];
  const receiver = await startRawReceiver(t, (socket, message) => {
    const body = message.slice(message.indexOf("\r\n\r\n") + 4);
    const { type, challenge } = JSON.parse(body) as WebhookVerification;
    if (type !== "webhook.verification") return answer(socket, messages.push(message));
    const text = JSON.stringify({ challenge });
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
  });
  const scene = await startWebhookScene(t, { ca: [receiver.certificate] });
  const url = `https://localhost:${receiver.port}/raw`;
  const { token } = await provisionWithReceiver(scene, { url });
  return { scene, messages, token };
}

const NO_CONTENT = "HTTP/1.1 204 No Content\r\n\r\n";

test("[event.acknowledged] any number of interim responses does not acknowledge, and 199 does not end the exchange", async (t) => {
  const { scene, messages, token } = await startRawScene(t, (socket, ordinal) => {
    if (ordinal === 1)
      socket.write("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 199 MaybePromise\r\n\r\n");
    else socket.write(`HTTP/1.1 100 Continue\r\n\r\n${NO_CONTENT}`);
  });
  const request = await denied(scene, token);
  await untilDelivered(scene, () => messages.length === 1, "the message arrives");
  await turns(200);
  assert.equal((await notificationOf(scene, request)).attempts, 0);
  await pass(scene, 9_000);
  const failed = await untilAttempted(scene, request, 1);
  assert.deepEqual([failed.ended_by, failed.last_outcome], [null, "unreachable:timeout"]);
  assert.equal((await attemptNext(scene, request)).ended_by, "acknowledged");
});

test("[event.acknowledged] [ours.delivery.resend] a connection that is closed when it is used again costs no attempt", async (t) => {
  const sockets = new Set<TLSSocket>();
  const { scene, messages, token } = await startRawScene(t, (socket) => {
    // Exactly when the next message comes on a connection that was left open.
    if (sockets.has(socket)) socket.destroy();
    else socket.write(NO_CONTENT);
    sockets.add(socket);
  });
  const first = await denied(scene, token);
  await untilAttempted(scene, first, 1);
  const second = await denied(scene, token);
  const row = await untilAttempted(scene, second, 1);
  assert.deepEqual([row.ended_by, row.attempts], ["acknowledged", 1]);
  assert.equal(messages.length, 3);
  const ids = messages.map((message) => /^webhook-id: (\S+)\r$/im.exec(message)?.[1]);
  assert.deepEqual(ids.slice(1), [row.id, row.id]);
});

test("[delivery.url.every-connection] a name that becomes private after the first attempt is not reached until it is public again", async (t) => {
  const resolver = new TableResolver();
  const onNotification = inTurn(204, 503, 204);
  const scene = await startWebhookScene(t, { resolver, onNotification });
  const { token } = await provisionWithReceiver(scene);
  // This one leaves a connection behind that could be used again.
  await untilAttempted(scene, await denied(scene, token), 1);
  const request = await denied(scene, token);
  await untilAttempted(scene, request, 1);
  const { connections } = scene.receiver;

  for (const private_ of [["10.0.0.7"], ["127.0.0.1", "169.254.169.254"], ["::1"]]) {
    resolver.answers.localhost = private_;
    const refused = await attemptNext(scene, request);
    assert.deepEqual([refused.last_outcome, refused.last_status], ["refused", null]);
    assert.ok((refused.next_at ?? 0) > scene.clock.now());
  }
  const fresh = await denied(scene, token);
  assert.equal((await untilAttempted(scene, fresh, 1)).last_outcome, "refused");
  assert.equal(scene.receiver.connections, connections);
  assert.equal(scene.notifications.length, 2);

  resolver.answers.localhost = ["127.0.0.1"];
  for (const each of [request, fresh]) {
    let row = await notificationOf(scene, each);
    while (row.ended_at === null) row = await attemptNext(scene, each);
    assert.equal(row.ended_by, "acknowledged");
  }
});

test("[ours.delivery.drain] a stopping server waits for the outstanding attempt, records it and starts no other", async (t) => {
  const manual = new ManualMessages();
  const settings = { webhook_host_in_flight_max: "1" };
  const scene = await startWebhookScene(t, { onNotification: manual.receive, settings });
  const { token } = await provisionWithReceiver(scene);
  const first = await denied(scene, token);
  await untilDelivered(scene, () => manual.arrived === 1, "an attempt is outstanding");
  const second = await denied(scene, token);
  let isStopped = false;
  const stopped = scene.server.stop().then(() => {
    isStopped = true;
  });
  await turns(200);
  assert.equal(isStopped, false);
  manual.answer(0, 204);
  await stopped;
  assert.equal(manual.arrived, 1);

  const again = await restartWebhooks(t, scene);
  assert.equal((await notificationOf(again, first)).ended_by, "acknowledged");
  const { attempts, ended_by } = await notificationOf(again, second);
  assert.deepEqual([attempts, ended_by], [0, null]);
  await untilDelivered(again, () => manual.arrived === 2, "the queued notification is sent");
  manual.answer(1, 204);
  await untilAttempted(again, second, 1);
  await pass(again, 60_000, 1_000);
  assert.deepEqual(
    scene.notifications.map((received) => eventOf(received).request_id),
    [first.id, second.id],
  );
});

test("[ours.delivery.drain] an attempt that does not end within the grace period is cut off, recorded and retried later", async (t) => {
  const manual = new ManualMessages();
  const settings = { shutdown_grace: "3s" };
  const scene = await startWebhookScene(t, { onNotification: manual.receive, settings });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  await untilDelivered(scene, () => manual.arrived === 1, "an attempt is outstanding");
  const stopped = scene.server.stop();
  await turns(50);
  scene.clock.advance(3_000);
  await stopped;

  const again = await restartWebhooks(t, scene);
  const cut = await notificationOf(again, request);
  assert.deepEqual([cut.attempts, cut.last_outcome], [1, "unreachable:reset"]);
  await reach(again, cut.next_at ?? 0);
  await untilDelivered(again, () => manual.arrived === 2, "it is sent again");
  manual.answer(1, 204);
  assert.equal((await untilAttempted(again, request, 2)).ended_by, "acknowledged");
});

test("[ours.delivery.drain] an attempt that was only claimed when the server got the stop signal does not start", async (t) => {
  const scene = await startWebhookScene(t);
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  // The claim is under way now.
  scene.clock.advance(0);
  await scene.server.stop();
  assert.equal(scene.notifications.length, 0);
  const again = await restartWebhooks(t, scene);
  assert.deepEqual((await notificationOf(again, request)).attempts, 0);
  assert.equal((await attemptNext(again, request)).ended_by, "acknowledged");
  assert.equal(scene.notifications.length, 1);
});

test("[event.retry.one-outstanding] a store that is away for a moment when an attempt ends costs no second one", async (t) => {
  const manual = new ManualMessages();
  const scene = await startWebhookScene(t, { onNotification: manual.receive });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  await untilDelivered(scene, () => manual.arrived === 1, "the message arrives");
  const show = await hideTables(scene.server, "notification");
  manual.answer(0, 204);
  await pass(scene, 1_750);
  await show();
  await pass(scene, 60_000, 500);
  const { attempts, ended_by } = await notificationOf(scene, request);
  assert.deepEqual([attempts, ended_by], [1, "acknowledged"]);
  assert.equal(manual.arrived, 1);
});

test("[event.retry.one-outstanding] an attempt with an unrecorded end is repeated after its lease ends", async (t) => {
  const manual = new ManualMessages();
  const scene = await startWebhookScene(t, { onNotification: manual.receive });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  await untilDelivered(scene, () => manual.arrived === 1, "the message arrives");
  const show = await hideTables(scene.server, "notification");
  manual.answer(0, 204);
  await pass(scene, 10_000);
  await show();
  await pass(scene, 19_750);
  assert.equal(manual.arrived, 1);
  await pass(scene, 1_500);
  await untilDelivered(scene, () => manual.arrived === 2, "it is attempted again");
  manual.answer(1, 204);
  assert.equal((await untilAttempted(scene, request, 1)).ended_by, "acknowledged");
});

test("[ours.webhooks.off] with webhooks off, receivers are rejected, nothing is sent, and queued notifications are delivered when webhooks are on again", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: inTurn(500, 204) });
  const instance = await provisionWithReceiver(scene);
  const before = await denied(scene, instance.token);
  await untilAttempted(scene, before, 1);

  const off = await restartWebhooks(t, scene, { webhooks_off: "true" });
  const delivery = off.delivery();
  const code = "unsupported_delivery_type";
  // Under new keys: replays of what was accepted before are still answered.
  assertRefused(await tryProvision(off, delivery, "new"), 400, code, "delivery");
  assertRefused(await tryUpdate(off, instance.id, { delivery }, "new"), 400, code, "delivery");
  const during = await denied(off, instance.token);
  await pass(off, 3 * HOUR, HOUR / 4);
  assert.equal(scene.receiver.requests.length, 2, "a verification and one notification");
  assert.equal(await waitingGauge(off), 2);

  const on = await restartWebhooks(t, off);
  await untilAttempted(on, during, 1);
  await untilAttempted(on, before, 2);
  assert.deepEqual(
    (await outbox(on)).map(({ ended_by }) => ended_by),
    ["acknowledged", "acknowledged"],
  );
  assert.equal(await waitingGauge(on), 0);
});

test("[ours.webhooks.off.shown] with webhooks off an instance shows its delivery unchanged, and a decision queues a notification", async (t) => {
  const scene = await startWebhookScene(t);
  const { id, token } = await provisionWithReceiver(scene);
  const read = async ({ server, provisioner }: WebhookScene) => {
    const { status, json } = await server.call<Instance>("GET", `/v1/instances/${id}`, {
      token: provisioner,
    });
    assert.equal(status, 200);
    return json.delivery;
  };
  const shown = await read(scene);
  assert.ok(shown);
  const off = await restartWebhooks(t, scene, { webhooks_off: "true" });
  assert.deepEqual(await read(off), shown);
  const row = await notificationOf(off, await denied(off, token));
  assert.deepEqual([row.attempts, row.ended_at], [0, null]);
});

test("[ours.webhooks.off] a receiver can still be removed, and then nothing is delivered later", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: inTurn(500) });
  const instance = await provisionWithReceiver(scene);
  const request = await denied(scene, instance.token);
  await untilAttempted(scene, request, 1);
  const off = await restartWebhooks(t, scene, { webhooks_off: "true" });
  assert.equal((await tryUpdate(off, instance.id, { delivery: null })).status, 200);
  assert.equal((await notificationOf(off, request)).ended_by, "removal");
  const on = await restartWebhooks(t, off);
  await pass(on, HOUR, HOUR / 8);
  assert.equal(on.notifications.length, 1);
});

test("[ours.operations.metrics] the gauge counts notifications that are not delivered yet", async (t) => {
  const manual = new ManualMessages();
  const scene = await startWebhookScene(t, { onNotification: manual.receive });
  const { token } = await provisionWithReceiver(scene);
  assert.equal(await waitingGauge(scene), 0);
  for (let waiting = 1; waiting <= 3; waiting++) {
    await denied(scene, token);
    assert.equal(await waitingGauge(scene), waiting);
  }
  await untilDelivered(scene, () => manual.arrived === 3, "all have arrived");
  manual.answer(0, 204);
  manual.answer(1, 500);
  await until(async () => (await waitingGauge(scene)) === 2, "one is delivered");
});
