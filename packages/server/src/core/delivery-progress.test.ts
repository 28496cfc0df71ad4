import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeliveryProgress, deliveryWindowEnd, progressOf } from "./delivery-progress.ts";
import type { StoredNotification } from "./notification.ts";

const HOUR_MS = 3_600_000;
const NOW = 1_000 * HOUR_MS;
const LIVE = { deliveryEpoch: 2, isDeleted: false };

function notification(fields: Partial<StoredNotification> = {}): StoredNotification {
  return {
    id: "n",
    requestId: "r",
    instanceId: "i",
    projectId: "p",
    deliveryEpoch: 2,
    body: "{}",
    createdAt: NOW - HOUR_MS,
    nextAt: NOW + 5_000,
    notBefore: null,
    claimedUntil: null,
    fence: 0,
    attempts: 0,
    retriesFrom: 0,
    last: null,
    ended: null,
    ...fields,
  };
}

function progress(fields: Partial<StoredNotification>, instance = LIVE): DeliveryProgress {
  return progressOf(notification(fields), instance, NOW);
}

test("it waits while no attempt is outstanding, also after an expired lease", () => {
  assert.deepEqual(progress({}), { kind: "waiting", nextAt: NOW + 5_000 });
  assert.deepEqual(progress({ nextAt: NOW }), { kind: "waiting", nextAt: NOW });
  assert.deepEqual(progress({ claimedUntil: NOW, nextAt: NOW }), { kind: "waiting", nextAt: NOW });
});

test("it is in flight until its lease ends, even when its window ends before", () => {
  const claimed = { claimedUntil: NOW + 1, nextAt: NOW + 1 };
  assert.deepEqual(progress(claimed), { kind: "in_flight", nextAt: NOW + 1 });
  const late = { ...claimed, createdAt: NOW - 168 * HOUR_MS };
  assert.deepEqual(progress(late), { kind: "in_flight", nextAt: NOW + 1 });
});

test("an end that is recorded is what it is, whatever the lease says", () => {
  const ended = { at: NOW + 1, by: "removal" } as const;
  const left = { nextAt: null, claimedUntil: NOW + 1, ended };
  assert.deepEqual(progress(left), { kind: "ended", ...ended });
});

test("with a passed epoch it has ended, by the removal of the receiver or of the instance", () => {
  const passed = { deliveryEpoch: 1, claimedUntil: NOW + 1, nextAt: NOW + 1 };
  assert.deepEqual(progress(passed), { kind: "ended", at: null, by: "removal" });
  const deleted = { deliveryEpoch: 2, isDeleted: true };
  assert.deepEqual(progress(passed, deleted), { kind: "ended", at: null, by: "deletion" });
});

test("at the end of its window it has ended, 168 hours after the decision", () => {
  const createdAt = NOW - 168 * HOUR_MS;
  assert.equal(deliveryWindowEnd({ createdAt }), NOW);
  assert.deepEqual(progress({ createdAt }), { kind: "ended", at: NOW, by: "window" });
  const earlier = { createdAt: createdAt + 1, nextAt: NOW };
  assert.deepEqual(progress(earlier), { kind: "waiting", nextAt: NOW });
});
