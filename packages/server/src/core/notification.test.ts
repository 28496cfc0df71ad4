import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type AttemptOutcome,
  isWindowOver,
  outcomeStatus,
  outcomeText,
  type StoredNotification,
  settleAttempt,
  writeEvent,
} from "./notification.ts";

const HOUR = 3_600_000;
const CREATED = Date.UTC(2026, 0, 1);
const END = CREATED + 168 * HOUR;

function notification(change: Partial<StoredNotification> = {}): StoredNotification {
  return {
    id: "0198f3a0-0000-7000-8000-000000000001",
    requestId: "0198f3a0-0000-7000-8000-000000000002",
    instanceId: "0198f3a0-0000-7000-8000-000000000003",
    projectId: "default",
    deliveryEpoch: 0,
    body: "{}",
    createdAt: CREATED,
    nextAt: CREATED,
    notBefore: null,
    claimedUntil: null,
    fence: 1,
    attempts: 0,
    retriesFrom: 0,
    last: null,
    ended: null,
    ...change,
  };
}

const ACKNOWLEDGED: AttemptOutcome = { kind: "acknowledged", status: 204 };
const UNREACHABLE: AttemptOutcome = { kind: "unreachable", reason: "timeout" };
const REFUSED: AttemptOutcome = { kind: "refused" };

function rejected(status: number, retryAfterMs?: number): AttemptOutcome {
  return { kind: "rejected", status, retryAfterMs };
}

function postponed(delayMs: number): AttemptOutcome {
  return { kind: "postponed", delayMs };
}

test("[event.body] an event is these bytes, in this order, with the decision's time to the millisecond", () => {
  const event = { id: "e", instanceId: "i", requestId: "r", decidedAt: CREATED + 7 };
  assert.equal(
    writeEvent(event),
    '{"id":"e","type":"request.resolved","instance_id":"i","request_id":"r",' +
      '"created_at":"2026-01-01T00:00:00.007Z"}',
  );
});

test("[event.acknowledged] an acknowledgement ends delivery, also when the window is over by then", () => {
  for (const now of [CREATED, END - 1, END, END + 9_000]) {
    const settled = settleAttempt(notification(), ACKNOWLEDGED, now, 0);
    assert.deepEqual(settled, { kind: "ended", by: "acknowledged" });
  }
});

test("[event.retry.window] a failed attempt before the end of the window is retried, then delivery ends", () => {
  for (const outcome of [rejected(500), rejected(400), rejected(302), UNREACHABLE, REFUSED]) {
    const first = settleAttempt(notification(), outcome, CREATED, 0);
    assert.deepEqual(first, { kind: "retry", nextAt: CREATED + 2_500 });
    for (const now of [END, END + 9_000]) {
      const last = settleAttempt(notification(), outcome, now, 0);
      assert.deepEqual(last, { kind: "ended", by: "window" });
    }
  }
});

test("[event.retry.window] the attempt that can be the last leaves the end of the window to be recorded", () => {
  const settled = settleAttempt(notification({ attempts: 200 }), UNREACHABLE, END - 1, 0.5);
  assert.deepEqual(settled, { kind: "retry", nextAt: END });
});

test("[event.retry.window] the window is over from its last millisecond on", () => {
  assert.equal(isWindowOver(notification(), CREATED), false);
  assert.equal(isWindowOver(notification(), END - 1), false);
  assert.equal(isWindowOver(notification(), END), true);
});

test("[event.retry.backoff] the step grows with the attempts that were completed before", () => {
  const waits = [0, 1, 2, 3].map((attempts) => {
    const settled = settleAttempt(notification({ attempts }), UNREACHABLE, CREATED, 0);
    return settled.kind === "retry" ? settled.nextAt - CREATED : undefined;
  });
  assert.deepEqual(waits, [2_500, 5_000, 10_000, 20_000]);
});

test("[event.retry.retry-after] the next attempt waits for the receiver's Retry-After", () => {
  const settled = settleAttempt(notification(), rejected(429, 2 * HOUR), CREATED, 0);
  assert.deepEqual(settled, { kind: "retry", nextAt: CREATED + 2 * HOUR });
});

test("a postponed attempt is retried after the delay, and no later than the window ends", () => {
  const settled = settleAttempt(notification({ attempts: 9 }), postponed(1_000), CREATED, 0.9);
  assert.deepEqual(settled, { kind: "retry", nextAt: CREATED + 1_000 });
  const late = settleAttempt(notification(), postponed(1_000), END - 1, 0);
  assert.deepEqual(late, { kind: "retry", nextAt: END });
  const over = settleAttempt(notification(), postponed(1_000), END, 0);
  assert.deepEqual(over, { kind: "ended", by: "window" });
});

const outcome: fc.Arbitrary<AttemptOutcome> = fc.oneof(
  fc.record({
    kind: fc.constant("rejected" as const),
    status: fc.integer({ min: 100, max: 599 }),
    retryAfterMs: fc.option(fc.integer({ min: 1, max: 10 ** 12 }), { nil: undefined }),
  }),
  fc.constant(UNREACHABLE),
  fc.constant(REFUSED),
  fc.record({ kind: fc.constant("postponed" as const), delayMs: fc.nat(10_000) }),
);

test("[event.retry.window] without an acknowledgement delivery ends at the end of the window, neither before nor after", () => {
  const property = fc.property(
    outcome,
    fc.nat(10_000),
    fc.integer({ min: -HOUR, max: 169 * HOUR }),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    (each, attempts, sinceMs, chance) => {
      const now = CREATED + sinceMs;
      const settled = settleAttempt(notification({ attempts }), each, now, chance);
      if (now >= END) return assert.deepEqual(settled, { kind: "ended", by: "window" });
      assert.ok(settled.kind === "retry" && settled.nextAt >= now && settled.nextAt <= END);
    },
  );
  fc.assert(property, { numRuns: 1_000 });
});

test("an outcome is shown by its kind, with its reason or status", () => {
  const all = [ACKNOWLEDGED, rejected(503, 1), REFUSED, UNREACHABLE, postponed(1)];
  assert.deepEqual(
    all.map((each) => [outcomeText(each), outcomeStatus(each)]),
    [
      ["acknowledged", 204],
      ["rejected", 503],
      ["refused", null],
      ["unreachable:timeout", null],
      ["postponed", null],
    ],
  );
});
