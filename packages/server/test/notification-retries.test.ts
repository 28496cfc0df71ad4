import assert from "node:assert/strict";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { systemClock } from "../src/clock.ts";
import { ManualClock } from "./support/manual-clock.ts";
import {
  attemptNext,
  denied,
  ManualMessages,
  notificationOf,
  pass,
  reach,
  SetClock,
  untilAttempted,
} from "./support/notifications.ts";
import { end } from "./support/scene.ts";
import type { AnswerMessage, Received } from "./support/tls-receiver.ts";
import {
  OTHER_SECRET,
  outbox,
  provisionWithReceiver,
  SIGNING_SECRET,
  startWebhookScene,
  tryUpdate,
  untilDelivered,
  type WebhookScene,
} from "./support/webhook-scene.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WINDOW = 168 * HOUR;

function status(code: number, headers: Record<string, string> = {}): AnswerMessage {
  return (_, response) => response.writeHead(code, headers).end();
}

function assertSigned({ body, headers }: Received, secret: string): void {
  new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
}

test("[event.identical] [signature.fresh] [event.retry.not-ended] every attempt has the same id and body and a signature of its own, over a replacement too", async (t) => {
  // The other implementation compares with the time of the machine.
  const clock = new ManualClock(systemClock.now());
  const scene = await startWebhookScene(t, { clock, onNotification: status(500) });
  const instance = await provisionWithReceiver(scene);
  const request = await denied(scene, instance.token);
  const first = await untilAttempted(scene, request, 1);
  await attemptNext(scene, request);
  const url = scene.receiver.url("/new");
  const delivery = scene.delivery({ url, signing_secret: OTHER_SECRET });
  scene.clock.advance(1_000);
  assert.equal((await tryUpdate(scene, instance.id, { delivery })).status, 200);
  await untilAttempted(scene, request, 3);
  const last = await attemptNext(scene, request);

  assert.equal(last.attempts, 4);
  assert.equal(last.created_at, first.created_at);
  const { notifications } = scene;
  assert.equal(notifications.length, 4);
  for (const [index, received] of notifications.entries()) {
    assert.equal(received.headers["webhook-id"], first.id);
    assert.equal(received.body.toString(), first.body);
    assert.equal(received.path, index < 2 ? "/hook?team=a" : "/new");
    assertSigned(received, index < 2 ? SIGNING_SECRET : OTHER_SECRET);
  }
  for (const name of ["webhook-timestamp", "webhook-signature"]) {
    assert.equal(new Set(notifications.map(({ headers }) => headers[name])).size, 4, name);
  }
});

test("[event.retry.backoff] the wait doubles from 5 seconds to an hour, and half of it is left to chance", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: status(500) });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  let row = await untilAttempted(scene, request, 1);
  for (const step of [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]) {
    const waitS = ((row.next_at ?? 0) - (row.last_at ?? 0)) / 1000;
    assert.ok(waitS >= step / 2 && waitS <= step, `${waitS} s of ${step} s`);
    row = await attemptNext(scene, request);
    assert.equal(row.last_outcome, "rejected");
  }
});

test("[event.retry.backoff] notifications that failed at one time are not retried at one time", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: status(500) });
  const { token } = await provisionWithReceiver(scene);
  for (let i = 0; i < 4; i++) await untilAttempted(scene, await denied(scene, token), 1);
  const rows = await outbox(scene);
  assert.equal(new Set(rows.map(({ last_at }) => last_at)).size, 1);
  assert.ok(new Set(rows.map(({ next_at }) => next_at)).size > 1);
});

/** Answers the first with a Retry-After that takes most of the window, to have it sooner. */
function longAfterThe(first: Received | undefined, received: Received): Record<string, string> {
  return first === received ? { "retry-after": String(150 * 3_600) } : {};
}

test("[event.retry.window] attempts continue for 168 hours, and none starts later", async (t) => {
  const attempts: number[] = [];
  const clock = new ManualClock();
  const scene = await startWebhookScene(t, {
    clock,
    onNotification: (received, response) => {
      attempts.push(clock.now());
      response.writeHead(503, longAfterThe(scene.notifications[0], received)).end();
    },
  });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  const endsAt = Date.parse(request.decision?.decided_at ?? "") + WINDOW;
  let row = await untilAttempted(scene, request, 1);
  while (row.ended_at === null) row = await attemptNext(scene, request);

  assert.deepEqual([row.ended_by, row.ended_at, row.next_at], ["window", endsAt, null]);
  assert.equal(row.attempts, attempts.length);
  assert.ok(attempts.length > 12, `${attempts.length} attempts`);
  const last = attempts.at(-1) ?? 0;
  assert.ok(last < endsAt && last >= endsAt - MINUTE, "the last one is in the last minute");
  await pass(scene, 3 * HOUR, HOUR / 4);
  assert.equal(attempts.length, row.attempts);
  assert.equal((await scene.server.read(token, request.id)).status, "denied");
});

test("[event.retry.window] a receiver that is down for 167 hours and 59 minutes still gets the notification", async (t) => {
  const clock = new ManualClock();
  let upAt = Number.POSITIVE_INFINITY;
  const scene = await startWebhookScene(t, {
    clock,
    onNotification: (received, response) => {
      if (clock.now() >= upAt) response.writeHead(204).end();
      else response.writeHead(503, longAfterThe(scene.notifications[0], received)).end();
    },
  });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  const endsAt = Date.parse(request.decision?.decided_at ?? "") + WINDOW;
  upAt = endsAt - MINUTE;
  let row = await untilAttempted(scene, request, 1);
  while (row.ended_at === null) row = await attemptNext(scene, request);
  assert.equal(row.ended_by, "acknowledged");
  assert.ok(row.ended_at >= upAt && row.ended_at < endsAt);
});

test("[event.retry.window] a notification that was never due within the window is not sent after it", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: status(500) });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  const { created_at } = await untilAttempted(scene, request, 1);
  // As if nothing had run for a week.
  scene.clock.set(created_at + WINDOW);
  await pass(scene, 2_000);
  const { attempts, ended_by } = await notificationOf(scene, request);
  assert.deepEqual([attempts, ended_by], [1, "window"]);
  assert.equal(scene.notifications.length, 1);
});

test("[event.retry.one-outstanding] [event.retry.ten-seconds] while an attempt hangs nothing else is sent, and it ends before ten seconds", async (t) => {
  const manual = new ManualMessages();
  const scene = await startWebhookScene(t, { onNotification: manual.receive });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  await untilDelivered(scene, () => manual.arrived === 1, "the message arrives");
  const startedAt = scene.clock.now();
  await pass(scene, 8_750);
  assert.deepEqual([manual.arrived, manual.open], [1, 1]);
  await pass(scene, 250);
  const failed = await untilAttempted(scene, request, 1);
  assert.equal(failed.last_outcome, "unreachable:timeout");
  assert.ok(scene.clock.now() - startedAt < 10_000);
  await untilDelivered(scene, () => manual.open === 0, "its connection is closed");

  // An answer at 9.9 seconds comes too late: it is sent again.
  await pass(scene, 900);
  manual.answer(0, 204);
  await pass(scene, 500);
  assert.equal((await notificationOf(scene, request)).ended_at, null);
  await reach(scene, failed.next_at ?? 0);
  await untilDelivered(scene, () => manual.arrived === 2, "it is tried again");
  manual.answer(1, 204);
  assert.equal((await untilAttempted(scene, request, 2)).ended_by, "acknowledged");
  assert.equal(manual.openMax, 1);
});

test("[event.retry.one-outstanding] after a pause of the event loop for a minute, no second attempt overlaps the first", async (t) => {
  const manual = new ManualMessages();
  const scene = await startWebhookScene(t, { onNotification: manual.receive });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  await untilDelivered(scene, () => manual.arrived === 1, "the message arrives");
  // Everything that fell due meanwhile is called back at once, the lease has long passed.
  scene.clock.advance(MINUTE);
  await untilAttempted(scene, request, 1);
  await pass(scene, MINUTE, 500);
  const { attempts } = await notificationOf(scene, request);
  assert.equal(manual.arrived, attempts + manual.open);
  assert.ok(attempts >= 2, `${attempts} attempts`);
  assert.equal(manual.openMax, 1);
});

test("[event.retry.one-outstanding] a clock that is set past the lease neither repeats an attempt nor holds others up", async (t) => {
  const manual = new ManualMessages();
  const clock = new SetClock();
  const scene = await startWebhookScene(t, { clock, onNotification: manual.receive });
  const { token } = await provisionWithReceiver(scene);
  const hanging = await denied(scene, token);
  await untilDelivered(scene, () => manual.arrived === 1, "the message arrives");
  clock.setBy = HOUR;
  const others = [await denied(scene, token), await denied(scene, token)];
  await pass(scene, 3_000);
  assert.equal(manual.arrived, 3);
  for (const index of [0, 1, 2]) manual.answer(index, 204);
  for (const request of [hanging, ...others]) {
    const { attempts, ended_by } = await untilAttempted(scene, request, 1);
    assert.deepEqual([attempts, ended_by], [1, "acknowledged"]);
  }
});

test("[event.retry.window] a clock that is set back does not delay later notifications", async (t) => {
  const clock = new SetClock();
  const scene = await startWebhookScene(t, { clock });
  const { token } = await provisionWithReceiver(scene);
  await untilAttempted(scene, await denied(scene, token), 1);
  clock.setBy = -24 * HOUR;
  const request = await denied(scene, token);
  assert.equal((await untilAttempted(scene, request, 1)).ended_by, "acknowledged");
});

const IN_TWO_HOURS = new Date(Date.UTC(2026, 0, 1, 2)).toUTCString();

for (const [code, retryAfter] of [
  [429, "7200"],
  [503, "7200"],
  [429, IN_TWO_HOURS],
  [503, IN_TWO_HOURS],
] as const) {
  test(`[event.retry.retry-after] ${code} with Retry-After: ${retryAfter} is left alone for as long`, async (t) => {
    const onNotification = status(code, { "retry-after": retryAfter });
    const scene = await startWebhookScene(t, { onNotification });
    const { token } = await provisionWithReceiver(scene);
    const request = await denied(scene, token);
    const asked = scene.clock.now() + 2 * HOUR;
    const { next_at } = await untilAttempted(scene, request, 1);
    assert.ok(next_at !== null && next_at >= asked && next_at <= asked + 0.1 * 2 * HOUR);
    await pass(scene, 2 * HOUR - MINUTE, MINUTE);
    assert.equal(scene.notifications.length, 1);
    await attemptNext(scene, request);
    assert.equal(scene.notifications.length, 2);
  });
}

test("[event.retry.retry-after] of another status, in another form or of the past it is ignored", async (t) => {
  let answer = status(500, { "retry-after": "7200" });
  const scene = await startWebhookScene(t, {
    onNotification: (received, response) => answer(received, response),
  });
  const { token } = await provisionWithReceiver(scene);
  const answers = [
    answer,
    status(404, { "retry-after": "7200" }),
    status(302, { "retry-after": "7200" }),
    status(503, { "retry-after": "-5" }),
    status(503, { "retry-after": "2 hours" }),
    status(429, { "retry-after": "0" }),
    status(429, { "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT" }),
  ];
  for (answer of answers) {
    const request = await denied(scene, token);
    const { next_at } = await untilAttempted(scene, request, 1);
    const waitMs = (next_at ?? 0) - scene.clock.now();
    assert.ok(waitMs >= 2_500 && waitMs <= 5_000, `${waitMs} ms`);
    // Long enough for a host that is paused meanwhile.
    answer = status(204);
    await reach(scene, scene.clock.now() + 10 * MINUTE);
    assert.equal((await untilAttempted(scene, request, 2)).ended_by, "acknowledged");
  }
});

test("[event.retry.retry-after] beyond the window it ends the delivery with the window", async (t) => {
  const onNotification = status(503, { "retry-after": "999999999" });
  const scene = await startWebhookScene(t, { onNotification });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  const { next_at, created_at } = await untilAttempted(scene, request, 1);
  assert.equal(next_at, created_at + WINDOW);
  const { ended_by, attempts } = await attemptNext(scene, request);
  assert.deepEqual([ended_by, attempts], ["window", 1]);
});

for (const how of ["approved", "expired"] as const) {
  test(`[event.retry.not-ended] [event.retry.expired-request] what is ${how} is still notified when its time is over`, async (t) => {
    const scene = await startWebhookScene(t, { onNotification: status(500) });
    const instance = { ...(await provisionWithReceiver(scene)), provisioner: scene.provisioner };
    const submitted = await scene.server.submit(instance.token);
    const { decision, ...request } = await end({ ...scene, instance }, submitted, how);
    await untilAttempted(scene, request, 1);
    await reach(scene, Date.parse(decision?.expires_at ?? decision?.decided_at ?? "") + HOUR);
    const { attempts, ended_by } = await untilAttempted(scene, request, 2);
    assert.deepEqual([attempts, ended_by], [2, null]);
  });
}

test("[event.retry.not-ended] [delivery.update.queued-follow] a new receiver does not restart the window", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: status(500) });
  const instance = await provisionWithReceiver(scene);
  const request = await denied(scene, instance.token);
  const { created_at } = await untilAttempted(scene, request, 1);
  await reach(scene, created_at + WINDOW - HOUR);
  const delivery = scene.delivery({ url: scene.receiver.url("/new") });
  assert.equal((await tryUpdate(scene, instance.id, { delivery })).status, 200);
  let row = await attemptNext(scene, request);
  while (row.ended_at === null) row = await attemptNext(scene, request);
  assert.deepEqual([row.ended_by, row.ended_at], ["window", created_at + WINDOW]);
});

test("[event.retry.window] an attempt that starts shortly before the end of the window ends by then, and none starts in the last second", async (t) => {
  for (const leftMs of [4_000, 999]) {
    const manual = new ManualMessages();
    const scene = await startWebhookScene(t, {
      onNotification: (received, response) => {
        if (scene.notifications.length > 1) manual.receive(received, response);
        else response.writeHead(500).end();
      },
    });
    const { token } = await provisionWithReceiver(scene);
    const request = await denied(scene, token);
    const { created_at } = await untilAttempted(scene, request, 1);
    // As if nothing had run for a week.
    scene.clock.set(created_at + WINDOW - leftMs);
    if (leftMs > 1_000) {
      await untilDelivered(scene, () => manual.arrived === 1, "the last attempt has started");
    }
    await pass(scene, leftMs);
    await untilDelivered(scene, () => manual.open === 0, "the attempt has ended");
    await pass(scene, 2_000);
    const row = await notificationOf(scene, request);
    assert.equal(row.ended_by, "window");
    assert.equal(scene.notifications.length, leftMs > 1_000 ? 2 : 1);
  }
});

/** The receiver at /new is there from now on. */
async function replaceReceiver(scene: WebhookScene, instanceId: string): Promise<void> {
  const delivery = scene.delivery({ url: scene.receiver.url("/new") });
  assert.equal((await tryUpdate(scene, instanceId, { delivery })).status, 200);
}

test("[ours.delivery.new-receiver] a new receiver is notified at once, despite the Retry-After of the previous one", async (t) => {
  const busy = status(503, { "retry-after": "600000" });
  const scene = await startWebhookScene(t, {
    onNotification: (received, response) =>
      (received.path === "/new" ? status(204) : busy)(received, response),
  });
  const instance = await provisionWithReceiver(scene);
  const request = await denied(scene, instance.token);
  await untilAttempted(scene, request, 1);
  await replaceReceiver(scene, instance.id);
  const row = await untilAttempted(scene, request, 2);
  assert.equal(row.ended_by, "acknowledged");
  assert.equal(scene.notifications[1]?.path, "/new");
});

test("[ours.delivery.new-receiver] an attempt that was in flight during the replacement does not delay the new receiver, and its 2xx still ends delivery", async (t) => {
  for (const code of [503, 204]) {
    const inFlight: (() => void)[] = [];
    const scene = await startWebhookScene(t, {
      onNotification: (received, response) => {
        if (received.path === "/new") response.writeHead(204).end();
        else inFlight.push(() => response.writeHead(code, { "retry-after": "600000" }).end());
      },
    });
    const instance = await provisionWithReceiver(scene);
    const request = await denied(scene, instance.token);
    await untilDelivered(scene, () => inFlight.length === 1, "the attempt is in flight");
    await replaceReceiver(scene, instance.id);
    inFlight[0]?.();
    let row = await untilAttempted(scene, request, 1);
    if (code === 503) {
      assert.equal(row.next_at, row.last_at);
      row = await attemptNext(scene, request);
    }
    assert.equal(row.ended_by, "acknowledged");
    const paths = scene.notifications.map(({ path }) => path);
    assert.deepEqual(paths, code === 204 ? ["/hook?team=a"] : ["/hook?team=a", "/new"]);
  }
});

test("[ours.delivery.new-receiver] the backoff starts again for a new receiver", async (t) => {
  const scene = await startWebhookScene(t, { onNotification: status(500) });
  const instance = await provisionWithReceiver(scene);
  const request = await denied(scene, instance.token);
  let row = await untilAttempted(scene, request, 1);
  while (row.attempts < 4) row = await attemptNext(scene, request);
  await replaceReceiver(scene, instance.id);
  for (const stepMs of [5_000, 10_000]) {
    row = await untilAttempted(scene, request, row.attempts + 1);
    const waitMs = (row.next_at ?? 0) - (row.last_at ?? 0);
    assert.ok(waitMs >= stepMs / 2 && waitMs <= stepMs, `${waitMs} ms of ${stepMs} ms`);
    await reach(scene, row.next_at ?? 0);
  }
});
