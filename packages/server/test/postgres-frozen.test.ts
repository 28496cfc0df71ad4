/**
 * Replicas that are stopped for longer than their lease: real processes by SIGSTOP, and a machine
 * by a database whose time goes on without it.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { eventually } from "@countersign/testing/eventually";
import { createDatabase } from "./support/postgres.ts";
import {
  outbox,
  provisionWithReceiver,
  startWebhookScene,
  untilDelivered,
} from "./support/webhook-scene.ts";
import {
  arrived,
  decided,
  type Notification,
  newNotifiedAgent,
  startWebhookServer,
  untilNothingWaits,
  type WebhookServer,
} from "./support/webhook-server.ts";

const STOP_AT_REQUEST = join(import.meta.dirname, "support/stop-at-request.ts");

/** @see contract: Limits, Notification attempt timeout */
const ATTEMPT_MS_MAX = 10_000;

/** A lease of 30 seconds, with everything before and after it. */
const PATIENCE_MS = 90_000;

async function startOnPostgres(t: TestContext, nodeOptions = ""): Promise<WebhookServer> {
  return startWebhookServer(t, ["--instance-rate", "0"], {
    COUNTERSIGN_DATABASE_URL: await createDatabase(),
    COUNTERSIGN_SECRET_KEY: randomBytes(32).toString("base64"),
    NODE_OPTIONS: nodeOptions,
  });
}

/** @see proc(5), /proc/[pid]/stat, state */
function isStopped(pid: number): boolean {
  return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.[0] === "T";
}

/** The next notification that arrives. */
function next(webhooks: WebhookServer): Promise<Notification> {
  return new Promise((resolve, reject) => {
    webhooks.onNotification = resolve;
    setTimeout(() => reject(new Error("no replica takes over")), PATIENCE_MS).unref();
  });
}

test("[ours.delivery.frozen] a process on a machine that was stopped together with its clocks sends nothing after its lease ends", async (t) => {
  const address = Promise.withResolvers<readonly string[]>();
  let queried = 0;
  const resolver = {
    // The second question is that of the attempt.
    resolve: async () => (++queried === 2 ? address.promise : ["127.0.0.1"]),
  };
  const settings = {
    database_url: await createDatabase(),
    secret_key: randomBytes(32).toString("base64"),
  };
  const scene = await startWebhookScene(t, { resolver, settings });
  const { token } = await provisionWithReceiver(scene);
  const { id } = await scene.server.submit(token);
  await scene.server.call("DELETE", `/v1/requests/${id}`, { token });
  await untilDelivered(scene, () => queried === 2, "the attempt asks for the address");

  const { store } = scene.server.provider.context;
  // Time went on in the database and not in the process; no other process has taken over yet.
  const age = "update notification set claimed_until = claimed_until - $1";
  await store.transact((tx) => tx.run(age, [25_000]));
  address.resolve(["127.0.0.1"]);
  const isRecorded = async () => (await outbox(scene))[0]?.claimed_until === null;
  await untilDelivered(scene, isRecorded, "the attempt is recorded");

  assert.equal((await outbox(scene))[0]?.attempts, 0);
  assert.equal(scene.notifications.length, 0);
});

describe("stopped for longer than a lease", { concurrency: true }, () => {
  test("[ours.delivery.frozen] a process that was stopped between its last check and the first byte sends nothing after a takeover", async (t) => {
    const webhooks = await startOnPostgres(t, `--import=${STOP_AT_REQUEST}`);
    const frozen = webhooks.server;
    const agent = await newNotifiedAgent(webhooks);
    const sent = next(webhooks);
    await decided(agent);
    await eventually("the process stops", () => isStopped(frozen.process.pid) || undefined);
    assert.equal(webhooks.notifications.length, 0);

    await webhooks.restart();
    const { answer } = await sent;
    // The replica's attempt is open while the other process goes on and ends its own.
    frozen.process.signal("SIGCONT");
    await frozen.process.prints("stdout", /"event":"delivery\.attempted"[^\n]*timeout/);
    await answer(204);

    await untilNothingWaits(webhooks);
    assert.deepEqual([webhooks.notifications.length, webhooks.openAtOnceMax], [1, 1]);
  });

  test("[ours.delivery.frozen] after the time of a paused process's attempt, a replica starts the next one, and the process adds none", async (t) => {
    const webhooks = await startOnPostgres(t);
    const frozen = webhooks.server;
    const agent = await newNotifiedAgent(webhooks);
    webhooks.onNotification = () => {};
    await decided(agent);
    const first = await arrived(webhooks, 1);
    const from = performance.now();
    frozen.process.signal("SIGSTOP");

    const sent = next(webhooks);
    await webhooks.restart();
    const second = await sent;
    assert.ok(performance.now() - from > ATTEMPT_MS_MAX);
    frozen.process.signal("SIGCONT");
    await first.over;
    await frozen.process.prints("stdout", /"event":"delivery\.attempted"[^\n]*timeout/);
    await second.answer(204);

    assert.deepEqual([second.id, second.body], [first.id, first.body]);
    await untilNothingWaits(webhooks);
    assert.equal(webhooks.notifications.length, 2);
  });
});
