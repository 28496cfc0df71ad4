import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { WIDE_BOUNDS } from "../../test/support/slots.ts";
import type { WebhookBounds } from "../config/settings.ts";
import type { AttemptOutcome } from "../core/notification.ts";
import { DestinationLimits, type SlotOwner } from "../delivery/destination-limits.ts";
import type { WaitingInstance } from "../storage/sql/deliveries/waiting-instances.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import type { QueueTurn as OutboxTurn } from "./destination.ts";

type QueueTurn = OutboxTurn<WaitingInstance>;

const NOW = Date.UTC(2026, 0, 1);

const ACKNOWLEDGED: AttemptOutcome = { kind: "acknowledged", status: 204 };
const REJECTED: AttemptOutcome = { kind: "rejected", status: 500, retryAfterMs: undefined };
const UNREACHABLE: AttemptOutcome = { kind: "unreachable", reason: "connect" };

class CountingLimits extends DestinationLimits {
  calls = 0;

  override tryAcquire(destination: SlotOwner): (() => void) | undefined {
    this.calls++;
    return super.tryAcquire(destination);
  }
}

function setUp(bounds: Partial<WebhookBounds> = {}) {
  const limits = new CountingLimits({ ...WIDE_BOUNDS, ...bounds }, new ManualClock(NOW));
  return { limits, queue: new DeliveryQueue(limits) };
}

function waiting(
  instanceId: string,
  url: string | null,
  provisionerId = "account",
): WaitingInstance {
  return { projectId: "project", instanceId, provisionerId, url };
}

function turnsOf(queue: DeliveryQueue, now = NOW): QueueTurn[] {
  return [...queue.turns(now)];
}

function idsOf(turns: readonly QueueTurn[]): string[] {
  return turns.map(({ item }) => item.instanceId);
}

/** Ends turns without an attempt. */
function leave(queue: DeliveryQueue, turns: readonly QueueTurn[], more: boolean): void {
  for (const turn of turns) {
    for (const place of turn.slots) place();
    queue.served(turn, more);
  }
}

/** Attempts that failed until the breaker opened. */
function fail(queue: DeliveryQueue, instance: WaitingInstance, outcome: AttemptOutcome): void {
  for (let i = 0; i < 5; i++) queue.attempted(instance, outcome, NOW);
}

test("an added instance has a turn at once, and no second one during it", () => {
  const { queue } = setUp();
  queue.add(waiting("a", "https://h.example/"));
  const turns = turnsOf(queue);
  assert.deepEqual(idsOf(turns), ["a"]);
  assert.deepEqual(idsOf(turnsOf(queue)), []);
  leave(queue, turns, true);
  assert.deepEqual(idsOf(turnsOf(queue)), ["a"]);
});

test("an instance with nothing due leaves the queue, unless a signal came during its turn", () => {
  const { queue } = setUp();
  queue.add(waiting("a", "https://h.example/"));
  const turns = turnsOf(queue);
  assert.equal(queue.expect("a"), true);
  leave(queue, turns, false);
  assert.equal(queue.size, 1);
  leave(queue, turnsOf(queue), false);
  assert.equal(queue.size, 0);
  assert.equal(queue.expect("a"), false);
  assert.deepEqual(idsOf(turnsOf(queue)), []);
});

test("attempts of a turn double while there is more, up to sixteen", () => {
  const { queue } = setUp();
  queue.add(waiting("a", "https://h.example/"));
  const places: number[] = [];
  for (let round = 0; round < 7; round++) {
    const turns = turnsOf(queue);
    places.push(turns[0]?.slots.length ?? 0);
    leave(queue, turns, true);
  }
  assert.deepEqual(places, [1, 2, 4, 8, 16, 16, 16]);
});

test("[ours.delivery.isolation] hosts have their turns one after the other, and so have the instances of one", () => {
  const { queue } = setUp({ inFlightMax: 2 });
  for (const id of ["a", "b", "c"]) queue.add(waiting(id, "https://long.example/"));
  queue.add(waiting("d", "https://short.example/"));
  const order: string[] = [];
  for (let round = 0; round < 4; round++) {
    const turns = turnsOf(queue);
    order.push(...idsOf(turns));
    leave(queue, turns, true);
  }
  for (const id of ["a", "b", "c", "d"]) assert.ok(order.includes(id), `${id} in ${order}`);
});

test("[ours.delivery.isolation] a full host, a full account and a paused receiver delay no others", () => {
  const { queue } = setUp({ hostInFlightMax: 1, accountInFlightMax: 2 });
  for (const id of ["a", "b"]) queue.add(waiting(id, "https://h.example/"));
  for (const id of ["c", "d"]) queue.add(waiting(id, `https://${id}.example/`));
  queue.add(waiting("e", "https://c.example/", "other"));
  queue.add(waiting("f", "https://f.example/", "other"));
  const paused = waiting("g", "https://g.example/bad", "third");
  queue.add(paused);
  fail(queue, paused, REJECTED);
  queue.add(waiting("h", "https://g.example/good", "third"));
  // a takes the host, c the host and the rest of the account; e finds its host full.
  assert.deepEqual(idsOf(turnsOf(queue)), ["a", "c", "f", "h"]);
});

test("[ours.delivery.breaker] failing to reach a host pauses its queue, and the other port has another", () => {
  const { queue } = setUp();
  const dead = waiting("a", "https://h.example:8443/");
  for (const each of [dead, waiting("b", "https://h.example:8443/b")]) queue.add(each);
  queue.add(waiting("c", "https://h.example/"));
  fail(queue, dead, UNREACHABLE);
  assert.deepEqual(idsOf(turnsOf(queue)), ["c"]);
  const probes = turnsOf(queue, NOW + 5_000);
  assert.equal(probes.length, 1, "one probe for both");
  queue.attempted(dead, ACKNOWLEDGED, NOW + 5_000);
  leave(queue, probes, false);
  assert.deepEqual(idsOf(turnsOf(queue, NOW + 5_000)), ["b"]);
});

test("[ours.delivery.breaker] a requested retry does not wait for a pause", () => {
  const { queue } = setUp();
  const instance = waiting("a", "https://h.example/");
  queue.add(instance);
  const [turn] = turnsOf(queue);
  assert.ok(turn);
  for (const place of turn.slots) place();
  queue.failed(turn, NOW);
  fail(queue, instance, UNREACHABLE);
  assert.deepEqual(idsOf(turnsOf(queue, NOW + 1)), []);
  queue.retryNow("a");
  assert.deepEqual(idsOf(turnsOf(queue, NOW + 1)), ["a"]);
  queue.retryNow("nobody");
});

test("a resting instance returns after fifteen seconds, also when the clock is set back", () => {
  for (const [restsAt, back] of [
    [NOW, NOW + 15_000],
    [NOW + 24 * 3_600_000, NOW],
  ] as const) {
    const { queue } = setUp();
    queue.add(waiting("a", "https://h.example/"));
    const [turn] = turnsOf(queue);
    assert.ok(turn);
    queue.failed(turn, restsAt);
    assert.deepEqual(idsOf(turnsOf(queue, restsAt + 14_999)), []);
    assert.deepEqual(idsOf(turnsOf(queue, back)), ["a"]);
  }
});

test("a receiver that was replaced begins anew, and the turn before says nothing of it", () => {
  const { queue } = setUp();
  const before = waiting("a", "https://h.example/old");
  queue.add(before);
  fail(queue, before, REJECTED);
  assert.deepEqual(idsOf(turnsOf(queue)), []);
  queue.add(waiting("a", "https://h.example/new"));
  const [turn] = turnsOf(queue);
  assert.ok(turn);
  queue.add(waiting("a", "https://h.example/newer"));
  queue.served(turn, false);
  queue.failed(turn, NOW);
  assert.deepEqual(idsOf(turnsOf(queue)), ["a"]);
  assert.equal(queue.size, 1);
});

test("where there is no receiver there is a turn without places", () => {
  const { queue } = setUp({ accountInFlightMax: 1 });
  queue.add(waiting("a", "https://h.example/"));
  queue.add(waiting("gone", null));
  queue.add(waiting("invalid", "http://not.acceptable/"));
  const turns = turnsOf(queue);
  assert.deepEqual(
    turns.map(({ item, slots }) => [item.instanceId, slots.length]),
    [
      ["a", 1],
      ["gone", 0],
    ],
  );
});

for (const [name, bounds, urlOf] of [
  ["one host", { hostInFlightMax: 4 }, () => "https://h.example/"],
  ["one account", { accountInFlightMax: 4 }, (i: number) => `https://h${i}.example/`],
  ["the process", { inFlightMax: 4 }, (i: number) => `https://h${i}.example/`],
] as const) {
  test(`ten thousand who wait for ${name} cost no more than the few who get a place`, () => {
    const { queue, limits } = setUp(bounds);
    for (let i = 0; i < 10_000; i++) queue.add(waiting(`${i}`, urlOf(i)));
    assert.equal(turnsOf(queue).length, 4);
    const { calls } = limits;
    assert.ok(calls <= 10, `${calls} calls`);
    assert.equal(turnsOf(queue).length, 0);
    assert.ok(limits.calls - calls <= 1, `${limits.calls - calls} further calls`);
  });
}

test("a queue that has served everything is empty", () => {
  const { queue, limits } = setUp({ hostInFlightMax: 3 });
  for (let i = 0; i < 50; i++) queue.add(waiting(`${i}`, `https://h${i % 7}.example/`));
  for (let round = 0; round < 100 && queue.size > 0; round++)
    leave(queue, turnsOf(queue), round < 3);
  assert.deepEqual([queue.size, limits.size], [0, 0]);
});
