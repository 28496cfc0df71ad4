import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { WebhookVerification } from "@countersign/protocol";
import { Report } from "../src/index.ts";
import { Keyring } from "../src/secrets/keyring.ts";
import { copyDeliveries } from "./support/deliveries.ts";
import {
  copyInstances,
  denied,
  ManualMessages,
  notificationOf,
  pass,
  tamper,
  untilAttempted,
} from "./support/notifications.ts";
import { startRawReceiver } from "./support/raw-receiver.ts";
import { type AnswerMessage, startTlsReceiver } from "./support/tls-receiver.ts";
import { turns, until } from "./support/until.ts";
import {
  answerChallenge,
  eventOf,
  OTHER_SECRET,
  outbox,
  provisionWithReceiver,
  SIGNING_SECRET,
  startWebhookScene,
  tryUpdate,
  typeOf,
  untilDelivered,
  type WebhookScene,
  type WebhookSceneOptions,
} from "./support/webhook-scene.ts";

const MINUTE = 60_000;

interface TwoHosts extends WebhookScene {
  /** Of two instances whose receivers are two hosts, at one address. */
  readonly slow: string;
  readonly fast: string;
  readonly manual: ManualMessages;
  /** How many notifications came to the fast one. */
  fastArrived(): number;
}

/** The receiver under two names: at one every message hangs, at the other it does not. */
async function startTwoHosts(
  t: Parameters<typeof startWebhookScene>[0],
  settings: WebhookSceneOptions["settings"] = {},
): Promise<TwoHosts> {
  const manual = new ManualMessages();
  const onNotification: AnswerMessage = (received, response) => {
    if (received.path === "/slow") manual.receive(received, response);
    else response.writeHead(204).end();
  };
  const scene = await startWebhookScene(t, { onNotification, settings });
  const { port } = scene.receiver;
  const slow = await provisionWithReceiver(scene, { url: `https://localhost:${port}/slow` });
  const fast = await provisionWithReceiver(scene, { url: `https://127.0.0.1:${port}/fast` });
  const fastArrived = () => scene.notifications.filter(({ path }) => path === "/fast").length;
  return { ...scene, slow: slow.token, fast: fast.token, manual, fastArrived };
}

test("[ours.delivery.isolation] a receiver that hangs with 2,000 notifications delays no other", async (t) => {
  const scene = await startTwoHosts(t);
  const { manual, fastArrived } = scene;
  const original = await notificationOf(scene, await denied(scene, scene.slow));
  await copyDeliveries(
    scene.server,
    original,
    Array.from({ length: 2_000 }, () => ({})),
  );
  await untilDelivered(scene, () => manual.open === 4, "the slow host has all its places taken");
  for (let round = 1; round <= 5; round++) {
    const { ended_by } = await untilAttempted(scene, await denied(scene, scene.fast), 1);
    assert.equal(ended_by, "acknowledged");
    assert.deepEqual([fastArrived(), manual.arrived], [round, 4]);
  }
});

test("[ours.delivery.isolation] neither does one host's instance with a long queue hold up its neighbour there", async (t) => {
  const scene = await startWebhookScene(t, { settings: { webhook_host_in_flight_max: "1" } });
  const [busy, idle] = [await provisionWithReceiver(scene), await provisionWithReceiver(scene)];
  const original = await notificationOf(scene, await denied(scene, busy.token));
  await copyDeliveries(
    scene.server,
    original,
    Array.from({ length: 300 }, () => ({})),
  );
  await untilDelivered(scene, () => scene.notifications.length > 10, "the long queue is sent");
  const { request_id } = await untilAttempted(scene, await denied(scene, idle.token), 1);
  const index = scene.notifications.findIndex((each) => eventOf(each).request_id === request_id);
  assert.ok(index > 10 && index < 100, `it came as number ${index}`);
});

test("[ours.delivery.isolation] everybody in a line of more than a page is served", async (t) => {
  const scene = await startWebhookScene(t, {
    settings: { webhook_host_in_flight_max: "64", webhook_address_in_flight_max: "64" },
  });
  const { token } = await provisionWithReceiver(scene);
  const request = await denied(scene, token);
  const original = await untilAttempted(scene, request, 1);
  await copyInstances(scene, original, 250);
  const isOver = async () => {
    await pass(scene, 50, 10);
    return (await outbox(scene)).every(({ ended_by }) => ended_by === "acknowledged");
  };
  await until(isOver, "all are delivered");
  assert.equal(scene.notifications.length, 251);
});

test("[ours.delivery.isolation] a delivery without a signal is found behind a page of deliveries that cannot be sent", async (t) => {
  const scene = await startWebhookScene(t);
  const { token } = await provisionWithReceiver(scene);
  const original = await untilAttempted(scene, await denied(scene, token), 1);
  const ids = await copyInstances(scene, original, 250);
  const last = ids.toSorted().at(-1) ?? "";
  const elsewhere = new Keyring(randomBytes(32)).encrypt(SIGNING_SECRET, "unknown");
  await tamper(
    scene,
    "update receiver set encrypted_secret = $1 where instance_id <> $2",
    elsewhere,
    last,
  );
  await pass(scene, 3_000, 50);
  await untilDelivered(scene, () => scene.notifications.length === 2, "the last one is served");
});

test("[ours.delivery.breaker] a receiver that keeps failing is probed, its queued notifications wait, and none is dropped", async (t) => {
  let status = 500;
  const scene = await startWebhookScene(t, {
    onNotification: (_, response) => response.writeHead(status).end(),
  });
  const { token } = await provisionWithReceiver(scene);
  const original = await notificationOf(scene, await denied(scene, token));
  await copyDeliveries(
    scene.server,
    original,
    Array.from({ length: 40 }, () => ({})),
  );
  const { notifications } = scene;
  await untilDelivered(scene, () => notifications.length >= 5, "five have failed");
  await turns(100);
  // With four at a time, those that were under way when it opened come on top.
  await pass(scene, 4_000);
  const before = notifications.length;
  assert.ok(before >= 5 && before <= 8, `${before} attempts`);
  await pass(scene, 2_000);
  assert.equal(notifications.length, before + 1, "the first probe after 5 s");
  await pass(scene, 8_000);
  assert.equal(notifications.length, before + 1);
  await pass(scene, 3_000);
  assert.equal(notifications.length, before + 2, "the second one 10 s later");
  await pass(scene, 10 * MINUTE, 500);
  const probes = notifications.length - before;
  assert.ok(probes >= 11 && probes <= 14, `${probes} probes`);

  status = 204;
  const isOver = async () => {
    await pass(scene, 1_000);
    return (await outbox(scene)).every(({ ended_by }) => ended_by === "acknowledged");
  };
  for (let minutes = 0; minutes < 3 && !(await isOver()); minutes++) await pass(scene, MINUTE, 500);
  const rows = await outbox(scene);
  assert.deepEqual(new Set(rows.map(({ ended_by }) => ended_by)), new Set(["acknowledged"]));
  assert.equal(rows.length, 41);
});

test("[ours.delivery.breaker] a failing destination pauses neither another path of its host nor another port", async (t) => {
  const answer: AnswerMessage = (received, response) => {
    if (typeOf(received) === "webhook.verification") answerChallenge(received, response);
    else response.writeHead(received.path === "/bad" ? 404 : 204).end();
  };
  // Roots are found by their names, so the two must not have the same.
  const subjects = { names: ["good.test", "localhost"] };
  const good = await startTlsReceiver(t, answer, { subjects });
  const bad = await startRawReceiver(t, (socket, message) => {
    const body = message.slice(message.indexOf("\r\n\r\n") + 4);
    const { type, challenge } = JSON.parse(body) as WebhookVerification;
    if (type !== "webhook.verification") return void socket.destroy();
    const text = JSON.stringify({ challenge });
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
  });
  const scene = await startWebhookScene(t, { ca: [good.certificate, bad.certificate] });
  const at = (url: string) => provisionWithReceiver(scene, { url });
  const failing = [await at(good.url("/bad")), await at(`https://localhost:${bad.port}/`)];
  const { token } = await at(good.url("/good"));
  for (const each of failing) {
    for (let i = 0; i < 6; i++) await denied(scene, each.token);
  }
  const failures = async () => (await outbox(scene)).filter(({ attempts }) => attempts > 0).length;
  await untilDelivered(scene, async () => (await failures()) >= 10, "both are paused");
  await turns(100);
  const { ended_by } = await untilAttempted(scene, await denied(scene, token), 1);
  assert.equal(ended_by, "acknowledged");
});

test("[event.rate-limited] so many are in flight at one host, for one provisioner and at one address", async (t) => {
  const limits = {
    host: { webhook_host_in_flight_max: "2" },
    account: { webhook_account_in_flight_max: "3" },
    address: { webhook_address_in_flight_max: "1" },
    process: { webhook_in_flight_max: "2" },
  };
  const max = { host: 2, account: 3, address: 1, process: 2 } as const;
  for (const name of ["host", "account", "address", "process"] as const) {
    const scene = await startTwoHosts(t, limits[name]);
    const { manual } = scene;
    const original = await notificationOf(scene, await denied(scene, scene.slow));
    await copyDeliveries(
      scene.server,
      original,
      Array.from({ length: 10 }, () => ({})),
    );
    await untilDelivered(scene, () => manual.arrived === max[name], `${name}: the first arrive`);
    await pass(scene, 2_000);
    assert.deepEqual([manual.arrived, manual.openMax], [max[name], max[name]], name);
    const request = await denied(scene, scene.fast);
    await pass(scene, 2_000);
    const isHeldUp = name !== "host";
    assert.equal(scene.fastArrived(), isHeldUp ? 0 : 1, name);
    for (let index = 0; index < 11; index++) {
      await untilDelivered(scene, () => manual.arrived > index, `${name}: number ${index} arrives`);
      manual.answer(index, 204);
      await pass(scene, 1_250);
    }
    await untilAttempted(scene, request, 1);
    assert.equal(manual.openMax, max[name], name);
  }
});

test("[event.rate-limited] so many are sent a second to one host, for one provisioner and to one address", async (t) => {
  for (const name of ["host", "account", "address"]) {
    const settings = { [`webhook_${name}_rate`]: "2" };
    const scene = await startWebhookScene(t, { settings });
    const { token } = await provisionWithReceiver(scene);
    const original = await notificationOf(scene, await denied(scene, token));
    await copyDeliveries(
      scene.server,
      original,
      Array.from({ length: 60 }, () => ({})),
    );
    // The burst is sent first.
    await pass(scene, 3_000, 50);
    const before = scene.notifications.length;
    await pass(scene, 10_000, 50);
    const sent = scene.notifications.length - before;
    assert.ok(sent >= 15 && sent <= 21, `${sent} in ten seconds by ${name}`);
    // Those that wait for the address are outstanding, and the clock does not advance.
    const stopped = scene.server.stop();
    await pass(scene, 10_000);
    await stopped;
  }
});

test("[ours.delivery.missing-key] a notification that cannot be signed waits, blocks no other, and is delivered when the key is back", async (t) => {
  const lines: string[] = [];
  const report = new Report("info", { write: (line) => void lines.push(line) });
  const scene = await startWebhookScene(t, { report });
  const [failingProvider, well] = [
    await provisionWithReceiver(scene),
    await provisionWithReceiver(scene),
  ];
  const { store } = scene.server.provider.context;
  const sql = "select encrypted_secret from receiver where instance_id = $1";
  const sealed = String((await store.get(sql, [failingProvider.id]))?.encrypted_secret);
  const elsewhere = new Keyring(randomBytes(32)).encrypt(SIGNING_SECRET, "unknown");
  const put = "update receiver set encrypted_secret = $1 where instance_id = $2";
  await tamper(scene, put, elsewhere, failingProvider.id);

  const waiting = await denied(scene, failingProvider.token);
  assert.equal((await untilAttempted(scene, await denied(scene, well.token), 1)).attempts, 1);
  await pass(scene, 10 * MINUTE, 500);
  const { attempts, ended_at, claimed_until } = await notificationOf(scene, waiting);
  assert.deepEqual([attempts, ended_at, claimed_until], [0, null, null]);
  assert.equal(scene.notifications.length, 1);
  const notified = lines.filter((line) => line.includes("dependency.failed"));
  assert.ok(
    notified.length >= 10 && notified.length <= 45,
    `${notified.length} lines in ten minutes`,
  );
  assert.equal(
    lines.some((line) => line.includes(SIGNING_SECRET) || line.includes(sealed)),
    false,
  );

  await tamper(scene, put, sealed, failingProvider.id);
  await pass(scene, 16_000);
  assert.equal((await untilAttempted(scene, waiting, 1)).ended_by, "acknowledged");
});

test("[ours.delivery.missing-key] a new receiver does not wait for the key of the previous one", async (t) => {
  const scene = await startWebhookScene(t);
  const instance = await provisionWithReceiver(scene);
  const elsewhere = new Keyring(randomBytes(32)).encrypt(SIGNING_SECRET, "unknown");
  await tamper(scene, "update receiver set encrypted_secret = $1", elsewhere);
  const request = await denied(scene, instance.token);
  await pass(scene, 2_000);
  assert.equal(scene.notifications.length, 0);
  const delivery = scene.delivery({ signing_secret: OTHER_SECRET });
  assert.equal((await tryUpdate(scene, instance.id, { delivery })).status, 200);
  assert.equal((await untilAttempted(scene, request, 1)).ended_by, "acknowledged");
});
