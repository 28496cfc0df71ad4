/**
 * Replicas on one PostgreSQL that notify people: one message each, whichever replica sends it, and
 * a replica that is killed in the midst of it is taken over in seconds.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SUBMISSION } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { type Cluster, provision, send, startCluster } from "./support/cluster.ts";
import {
  type NotificationReceiver,
  startNotificationReceiver,
} from "./support/notification-receiver.ts";
import { SIGNING_SECRET } from "./support/webhook-scene.ts";
import { trusting } from "./support/webhook-server.ts";

/** The lease of a channel, with everything before and after it. */
const PATIENCE_MS = 30_000;

interface AnnouncingScene {
  readonly cluster: Cluster;
  readonly people: NotificationReceiver;
  /** Asks this replica. */
  ask(replica: number, fields?: object): Promise<void>;
}

async function startAnnouncing(t: TestContext): Promise<AnnouncingScene> {
  const people = await startNotificationReceiver(t);
  const { receiver } = people;
  const cluster = await startCluster(t, 2, {
    args: ["--webhook-allow-cidrs", "127.0.0.0/8"],
    env: trusting(temporaryFolder(t), receiver),
  });
  const admin = await cluster.token("reviewer", "admin");
  const channel = { name: "hook", kind: "webhook", signing_secret: SIGNING_SECRET };
  const body = { ...channel, url: receiver.url("/hook") };
  const made = await send(cluster, 0, "POST", "/review/v1/channels", admin, body);
  assert.equal(made.status, 201, made.text);
  const agent = await provision(cluster, await cluster.token("provisioner"));
  return {
    cluster,
    people,
    async ask(replica, fields = {}) {
      const submission = { ...SUBMISSION, ...fields };
      const key = randomUUID();
      const answer = await send(
        cluster,
        replica,
        "POST",
        "/v1/requests",
        agent.token,
        submission,
        key,
      );
      assert.equal(answer.status, 201, answer.text);
    },
  };
}

async function untilAllEnded({ cluster: { store } }: AnnouncingScene): Promise<void> {
  await eventually(
    "an empty queue of announcements",
    async () => {
      const sql = "select count(*) as n from announcement where next_at is not null";
      return Number((await store.get(sql))?.n) === 0 ? true : undefined;
    },
    PATIENCE_MS,
  );
}

test("[ours.notify.replicas] two replicas announce each request once, one message at a time for a channel", async (t) => {
  const scene = await startAnnouncing(t);
  const { people } = scene;
  let open = 0;
  let openMax = 0;
  people.onNotification = ({ answer, over }) => {
    openMax = Math.max(openMax, ++open);
    over.then(() => open--);
    setTimeout(() => void answer(204), 20);
  };
  await Promise.all(Array.from({ length: 8 }, (_, i) => scene.ask(i % 2, { tool: `tool-${i}` })));
  await untilAllEnded(scene);
  const tools = people.notifications.map(({ body }) => JSON.parse(body).request.tool).sort();
  assert.deepEqual(
    tools,
    Array.from({ length: 8 }, (_, i) => `tool-${i}`),
  );
  assert.equal(openMax, 1);
});

test("[ours.notify.replicas] a message that a killed replica was sending is sent by another in seconds, with the same id", async (t) => {
  const scene = await startAnnouncing(t);
  const { people, cluster } = scene;
  people.onNotification = () => {};
  await scene.ask(0);
  const first = await eventually("the message", () => people.notifications[0]);
  people.onNotification = ({ answer }) => void answer(204);
  // The one that was asked has the claim, as it knew first; if not, it is the other one.
  let killedAt = performance.now();
  await cluster.servers[0]?.kill();
  const isOver = await Promise.race([first.over.then(() => true), sleep(1_000, false)]);
  if (!isOver) {
    await cluster.start(0);
    killedAt = performance.now();
    await cluster.servers[1]?.kill();
  }
  const again = await eventually("the message again", () => people.notifications[1], PATIENCE_MS);
  assert.ok(performance.now() - killedAt < 20_000, "it took more than seconds");
  assert.deepEqual(again.id, first.id);
  await untilAllEnded(scene);
  assert.equal(people.notifications.length, 2);
});
