/**
 * Server processes that share one outbox in a PostgreSQL, and a receiver over TLS that sees who
 * sends what, and when: nothing at the same time, nothing twice without need, and nothing lost
 * when a process or the database goes away in the midst of it.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApprovalRequest } from "@countersign/protocol";
import { SUBMISSION } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { systemClock } from "../src/index.ts";
import {
  type Cluster,
  type ClusterOptions,
  provision,
  send,
  startCluster,
} from "./support/cluster.ts";
import {
  type Notification,
  type NotificationReceiver,
  startNotificationReceiver,
} from "./support/notification-receiver.ts";
import { startPostgres } from "./support/postgres.ts";
import { deliveryTo, trusting } from "./support/webhook-server.ts";

/** A lease of 30 seconds, with everything before and after it. */
const PATIENCE_MS = 60_000;

interface Notified {
  readonly cluster: Cluster;
  readonly webhooks: NotificationReceiver;
  readonly agent: string;
}

/** Replicas that have two exchanges open with a receiver at most, each. */
async function startNotified(
  t: TestContext,
  replicas: number,
  options: Pick<ClusterOptions, "database"> = {},
): Promise<Notified> {
  const webhooks = await startNotificationReceiver(t);
  const { receiver } = webhooks;
  const cluster = await startCluster(t, replicas, {
    ...options,
    args: ["--webhook-allow-cidrs", "127.0.0.0/8", "--webhook-host-in-flight-max", "2"],
    env: trusting(temporaryFolder(t), receiver),
  });
  const delivery = deliveryTo(receiver.url("/hook"));
  const { token: agent } = await provision(cluster, await cluster.token("provisioner"), delivery);
  return { cluster, webhooks, agent };
}

/** @returns ids of as many requests that this replica has decided */
function decide({ cluster, agent }: Notified, replica: number, count: number): Promise<string[]> {
  const decideOne = async () => {
    const submission = ["POST", "/v1/requests", agent, SUBMISSION, randomUUID()] as const;
    const { json } = await send<ApprovalRequest>(cluster, replica, ...submission);
    const path = `/v1/requests/${json.id}`;
    const { status, text } = await send(cluster, replica, "DELETE", path, agent);
    assert.equal(status, 200, text);
    return json.id;
  };
  return Promise.all(Array.from({ length: count }, decideOne));
}

async function untilAllEnded({ cluster: { store } }: Notified): Promise<void> {
  const sql = "select count(*) as n from notification where next_at is not null";
  await eventually(
    "nothing that waits for delivery",
    // While the database starts anew there is no answer.
    async () => ((await store.get(sql).catch(() => undefined))?.n === 0 ? true : undefined),
    PATIENCE_MS,
  );
}

/** How often each event arrived; all its attempts are the same, and none beside another. */
function arrivals({ notifications, openAtOnceMax }: NotificationReceiver): Map<string, number> {
  const counts = new Map<string, number>();
  const bodies = new Map<string, string>();
  for (const { id, body, event } of notifications) {
    assert.equal(event.id, id);
    assert.equal(body, bodies.get(id) ?? body, "an event changed its bytes");
    bodies.set(id, body);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  assert.equal(openAtOnceMax, 1, "two attempts of one event were open at one time");
  return counts;
}

/** Every request has one event, which was acknowledged; as many attempts are recorded. */
async function assertDelivered(
  { cluster: { store }, webhooks }: Notified,
  requests: readonly string[],
): Promise<Map<string, number>> {
  const rows = await store.all("select id, request_id, ended_by, attempts from notification");
  assert.deepEqual(rows.map(({ request_id }) => request_id).sort(), [...requests].sort());
  const counts = arrivals(webhooks);
  assert.deepEqual(rows.map(({ id }) => id).sort(), [...counts.keys()].sort());
  for (const { ended_by } of rows) assert.equal(ended_by, "acknowledged");
  return counts;
}

/** Receives without an answer until as many are open. */
async function heldOpen({ webhooks }: Notified, count: number): Promise<readonly Notification[]> {
  await eventually(`${count} open exchanges`, () => {
    return webhooks.notifications.length === count ? true : undefined;
  });
  return [...webhooks.notifications];
}

const SHARED = 100;
/** How long the receiver takes, ms. */
const WORK_MS = 20;

describe("one outbox", { concurrency: true }, () => {
  test("[event.retry.one-outstanding] [ours.replicas.shared-outbox] three processes share what waits: each event is attempted by one at a time, and again only after a failure", async (t) => {
    const notified = await startNotified(t, 3);
    const { cluster, webhooks } = notified;
    const failed = new Set<string>();
    const released = Promise.withResolvers<void>();
    webhooks.onNotification = async ({ id, answer }) => {
      const arrived = webhooks.notifications;
      const isFirst = arrived.filter((one) => one.id === id).length === 1;
      const fails = isFirst && arrived.length % 10 === 0;
      if (fails) failed.add(id);
      await released.promise;
      await sleep(WORK_MS);
      await answer(fails ? 500 : 204);
    };
    // The one that decided sends first, two at a time; the others find the rest.
    const [requests] = await Promise.all([
      decide(notified, 0, SHARED),
      heldOpen(notified, 2 * cluster.servers.length).then(() => released.resolve()),
    ]);
    await untilAllEnded(notified);

    const counts = await assertDelivered(notified, requests);
    for (const [id, count] of counts) assert.equal(count, failed.has(id) ? 2 : 1, id);
    assert.ok(failed.size > 0);
    const rows = await cluster.store.all("select id, attempts from notification");
    for (const { id, attempts } of rows) assert.equal(attempts, counts.get(String(id)));
    for (const { process } of cluster.servers) {
      await process.prints("stdout", /"event":"delivery\.attempted"/);
    }
  });

  test("[ours.delivery.crash] other replicas take over outstanding attempts of a killed process after the lease, and queued ones at once", async (t) => {
    const notified = await startNotified(t, 1);
    const { cluster, webhooks } = notified;
    webhooks.onNotification = () => {};
    const requests = await decide(notified, 0, 8);
    const held = await heldOpen(notified, 2);
    const sql = "select id, claimed_until from notification where claimed_until is not null";
    const leases = await cluster.store.all(sql);
    const leaseEnds = new Map(leases.map((row) => [String(row.id), Number(row.claimed_until)]));
    assert.deepEqual([...leaseEnds.keys()].sort(), held.map(({ id }) => id).sort());
    await cluster.servers[0]?.kill();
    const takenOver: number[] = [];
    webhooks.onNotification = ({ id, answer }) => {
      const leaseEnd = leaseEnds.get(id);
      if (leaseEnd !== undefined) takenOver.push(systemClock.now() - leaseEnd);
      void answer(204);
    };
    await Promise.all([cluster.start(0), cluster.start(1)]);
    await eventually("the attempts that had not started", () => {
      return webhooks.notifications.length === requests.length ? true : undefined;
    });
    assert.deepEqual(takenOver, []);
    await untilAllEnded(notified);

    const counts = await assertDelivered(notified, requests);
    for (const [id, count] of counts) assert.equal(count, leaseEnds.has(id) ? 2 : 1, id);
    for (const ms of takenOver) assert.ok(ms >= 0, `taken ${-ms} ms before the end of a lease`);
  });

  test("[ours.delivery.crash] a database restart during attempts loses none, and repeats only the open ones", async (t) => {
    const database = await startPostgres();
    t.after(() => database.stop());
    const notified = await startNotified(t, 2, { database });
    const { webhooks } = notified;
    webhooks.onNotification = () => {};
    const requests = await decide(notified, 0, 30);
    const held = await heldOpen(notified, 4);
    webhooks.onNotification = ({ answer }) => void answer(204);

    await database.stop();
    // Acknowledged, and no process can record it.
    await Promise.all(held.map(({ answer }) => answer(204)));
    await database.start();
    requests.push(...(await decide(notified, 1, 10)));
    await untilAllEnded(notified);

    const ids = new Set(held.map(({ id }) => id));
    const counts = await assertDelivered(notified, requests);
    for (const [id, count] of counts) assert.ok(count === 1 || (count === 2 && ids.has(id)), id);
  });
});
