import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { AttemptOutcome } from "../src/core/notification.ts";
import {
  type ClaimedNotification,
  claimNotifications,
} from "../src/operations/deliveries/claimNotifications.ts";
import { recordAttempt } from "../src/operations/deliveries/recordAttempt.ts";
import { isStillClaimed } from "../src/outbox/webhook-destination.ts";
import {
  claimNotification,
  readDueNotifications,
} from "../src/storage/sql/deliveries/notifications.ts";
import { copyDeliveries } from "./support/deliveries.ts";
import { ENGINE } from "./support/engine.ts";
import { denied, notificationOf, restartWebhooks, tamper } from "./support/notifications.ts";
import { turns } from "./support/until.ts";
import {
  type OutboxRow,
  outbox,
  provisionWithReceiver,
  startWebhookScene,
  type WebhookScene,
} from "./support/webhook-scene.ts";

const LEASE = 30_000;

const ACKNOWLEDGED: AttemptOutcome = { kind: "acknowledged", status: 204 };
const UNREACHABLE: AttemptOutcome = { kind: "unreachable", reason: "timeout" };

interface Idle extends WebhookScene {
  /** Due, and only the test attempts it. */
  readonly row: OutboxRow;
  claim(limit?: number, outstanding?: readonly string[]): Promise<readonly ClaimedNotification[]>;
}

/** A notification in a provider without a worker: only the test claims. */
async function startIdle(t: TestContext): Promise<Idle> {
  const scene = await startWebhookScene(t);
  const { id, token } = await provisionWithReceiver(scene);
  const idle = await restartWebhooks(t, scene, { webhooks_off: "true" });
  const row = await notificationOf(idle, await denied(idle, token));
  const { context } = idle.server.provider;
  const claim: Idle["claim"] = async (limit = 1, outstanding = []) => {
    const instance = { projectId: row.project_id, instanceId: id };
    const { claimed } = await claimNotifications(context, instance, limit, new Set(outstanding));
    return claimed;
  };
  return { ...idle, row, claim };
}

async function theOnly(claimed: Promise<readonly ClaimedNotification[]>) {
  const [one, ...others] = await claimed;
  assert.ok(one !== undefined && others.length === 0);
  return one;
}

test("[event.retry.one-outstanding] a claimed notification is not claimed again until its lease ends", async (t) => {
  const scene = await startIdle(t);
  const first = await theOnly(scene.claim());
  assert.equal((await outbox(scene))[0]?.claimed_until, scene.clock.now() + LEASE);
  scene.clock.advance(LEASE - 1);
  assert.deepEqual(await scene.claim(16), []);
  scene.clock.advance(1);
  assert.deepEqual(await scene.claim(16, [first.notification.id]), []);
  const second = await theOnly(scene.claim(16));
  assert.equal(second.fence, first.fence + 1);
});

test("[event.retry.retry-after] a claim prepared before a late result was recorded fails after the result postpones the retry", async (t) => {
  const scene = await startIdle(t);
  const { context } = scene.server.provider;
  const late = await theOnly(scene.claim());
  scene.clock.advance(LEASE);
  const now = scene.clock.now();
  const instance = late.notification;
  const [due] = await context.store.transact((tx) => readDueNotifications(tx, instance, now, 1));
  assert.ok(due);
  await recordAttempt(context, late, { kind: "rejected", status: 503, retryAfterMs: 3_600_000 });
  const claimed = await context.store.transact((tx) =>
    claimNotification(tx, due.notification, now, now + LEASE),
  );
  assert.equal(claimed, false);
});

test("[ours.delivery.frozen] a claim is valid only for an attempt that ends three seconds before its lease, for any clock of the process", async (t) => {
  const scene = await startIdle(t);
  const { context } = scene.server.provider;
  const from = context.clock.monotonic();
  const claimed = await theOnly(scene.claim());
  assert.equal(claimed.endsBy, from + LEASE - 3_000);
  const isGood = (leftMs: number) => isStillClaimed(context, claimed, leftMs);
  assert.deepEqual(
    [await isGood(9_000), await isGood(LEASE), await isGood(LEASE + 1)],
    [true, true, false],
  );
  scene.clock.advance(LEASE - 9_000);
  assert.deepEqual([await isGood(9_000), await isGood(9_000.5)], [true, false]);
  // The remaining time by the clock of the process does not matter after the lease ends.
  scene.clock.advance(9_000);
  assert.deepEqual([await isGood(0), await isGood(1)], [true, false]);
  scene.clock.advance(1);
  assert.equal(await isGood(0), false);
});

test("[ours.delivery.frozen] a claim is void after another replica has claimed", async (t) => {
  const scene = await startIdle(t);
  const { context } = scene.server.provider;
  const first = await theOnly(scene.claim());
  scene.clock.advance(LEASE);
  const second = await theOnly(scene.claim());
  assert.deepEqual(
    [await isStillClaimed(context, first, 0), await isStillClaimed(context, second, 9_000)],
    [false, true],
  );
  await recordAttempt(context, second, ACKNOWLEDGED);
  assert.equal(await isStillClaimed(context, second, 0), false);
});

test("[event.retry.one-outstanding] concurrent claims are disjoint, and the longest waiting come first", async (t) => {
  const scene = await startIdle(t);
  const { created_at } = scene.row;
  const ages = [3_000, 1_000, 2_000].map((ms) => ({ next_at: created_at - ms }));
  const [oldest, youngest, middle] = await copyDeliveries(scene.server, scene.row, ages);
  const claimIds = async () => (await scene.claim(2)).map(({ notification }) => notification.id);
  const together = await Promise.all([claimIds(), claimIds(), claimIds()]);
  const later = [await claimIds(), await claimIds()];
  const batches = [
    [oldest, middle],
    [youngest, scene.row.id],
  ];
  if (ENGINE === "sqlite") {
    // One after another in one transaction, in the order in which they came.
    assert.deepEqual([...together, ...later], [...batches, [], [], []]);
    return;
  }
  // A claim that waited for a row taken by another claim gets nothing, in any order.
  assert.ok(together.some((ids) => ids[0] === oldest));
  const taken = [...together, ...later].filter((ids) => ids.length > 0);
  const order = (ids: readonly string[]) => (ids[0] === oldest ? 0 : 1);
  assert.deepEqual(
    taken.toSorted((a, b) => order(a) - order(b)),
    batches,
  );
});

test("[event.retry.one-outstanding] an outstanding notification is skipped, and does not count towards the limit", async (t) => {
  const scene = await startIdle(t);
  const { created_at } = scene.row;
  const ages = [4_000, 3_000, 2_000, 1_000].map((ms) => ({ next_at: created_at - ms }));
  const [oldest = "", second, third] = await copyDeliveries(scene.server, scene.row, ages);
  const claimed = await scene.claim(2, [oldest]);
  assert.deepEqual(
    claimed.map(({ notification }) => notification.id),
    [second, third],
  );
});

test("[event.retry.one-outstanding] a result recorded under an older claim, or twice, changes nothing", async (t) => {
  const scene = await startIdle(t);
  const { context } = scene.server.provider;
  const late = await theOnly(scene.claim());
  scene.clock.advance(LEASE);
  const current = await theOnly(scene.claim());
  const claimed = await outbox(scene);
  assert.deepEqual(await recordAttempt(context, late, ACKNOWLEDGED), { kind: "stale" });
  assert.deepEqual(await outbox(scene), claimed);

  const recorded = await recordAttempt(context, current, UNREACHABLE);
  assert.equal(recorded.kind, "retry");
  const failed = await outbox(scene);
  assert.deepEqual([failed[0]?.attempts, failed[0]?.claimed_until], [1, null]);
  for (const each of [late, current]) {
    assert.deepEqual(await recordAttempt(context, each, ACKNOWLEDGED), { kind: "stale" });
  }
  assert.deepEqual(await outbox(scene), failed);
});

test("[event.acknowledged] a result after the lease still counts without another claim", async (t) => {
  const scene = await startIdle(t);
  const claimed = await theOnly(scene.claim());
  scene.clock.advance(LEASE + 3_600_000);
  const recorded = await recordAttempt(scene.server.provider.context, claimed, ACKNOWLEDGED);
  assert.deepEqual(recorded, { kind: "ended", by: "acknowledged" });
});

test("[event.retention] the result of an attempt for a purged request is ignored", async (t) => {
  const scene = await startIdle(t);
  const claimed = await theOnly(scene.claim());
  await tamper(scene, "delete from notification");
  await turns();
  const recorded = await recordAttempt(scene.server.provider.context, claimed, ACKNOWLEDGED);
  assert.deepEqual(recorded, { kind: "stale" });
  assert.deepEqual(await outbox(scene), []);
});
