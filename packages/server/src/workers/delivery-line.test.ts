import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { WIDE } from "../../test/support/place-in-line.ts";
import type { WebhookBounds } from "../config/settings.ts";
import type { AttemptOutcome } from "../core/notification.ts";
import { type Destination, DestinationLimits } from "../delivery/destination-limits.ts";
import type { WaitingInstance } from "../operations/deliveries/listWaitingInstances.ts";
import { DeliveryLine, type Turn } from "./delivery-line.ts";

const NOW = Date.UTC(2026, 0, 1);

const ACKNOWLEDGED: AttemptOutcome = { kind: "acknowledged", status: 204 };
const REJECTED: AttemptOutcome = { kind: "rejected", status: 500, retryAfterMs: undefined };
const UNREACHABLE: AttemptOutcome = { kind: "unreachable", reason: "connect" };

/** Counts how often it is asked for a place. */
class CountingLimits extends DestinationLimits {
  asked = 0;

  override tryEnter(destination: Destination): (() => void) | undefined {
    this.asked++;
    return super.tryEnter(destination);
  }
}

function setUp(bounds: Partial<WebhookBounds> = {}) {
  const limits = new CountingLimits({ ...WIDE, ...bounds }, new ManualClock(NOW));
  return { limits, line: new DeliveryLine(limits) };
}

function waiting(
  instanceId: string,
  url: string | null,
  provisionerId = "account",
): WaitingInstance {
  return { projectId: "project", instanceId, provisionerId, url };
}

/** Whose turns it is now. */
function turnsOf(line: DeliveryLine, now = NOW): Turn[] {
  return [...line.turns(now)];
}

function idsOf(turns: readonly Turn[]): string[] {
  return turns.map(({ instance }) => instance.instanceId);
}

/** Ends turns without an attempt. */
function leave(line: DeliveryLine, turns: readonly Turn[], more: boolean): void {
  for (const turn of turns) {
    for (const place of turn.places) place();
    line.served(turn, more);
  }
}

/** Attempts that failed until the breaker opened. */
function fail(line: DeliveryLine, instance: WaitingInstance, outcome: AttemptOutcome): void {
  for (let i = 0; i < 5; i++) line.ended(instance, outcome, NOW);
}

test("who is added has a turn at once, and while it lasts no other", () => {
  const { line } = setUp();
  line.add(waiting("a", "https://h.example/"));
  const turns = turnsOf(line);
  assert.deepEqual(idsOf(turns), ["a"]);
  assert.deepEqual(idsOf(turnsOf(line)), []);
  leave(line, turns, true);
  assert.deepEqual(idsOf(turnsOf(line)), ["a"]);
});

test("who has nothing more leaves the line, unless something was signalled during the turn", () => {
  const { line } = setUp();
  line.add(waiting("a", "https://h.example/"));
  const turns = turnsOf(line);
  assert.equal(line.expect("a"), true);
  leave(line, turns, false);
  assert.equal(line.size, 1);
  leave(line, turnsOf(line), false);
  assert.equal(line.size, 0);
  assert.equal(line.expect("a"), false);
  assert.deepEqual(idsOf(turnsOf(line)), []);
});

test("attempts of a turn double while there is more, up to sixteen", () => {
  const { line } = setUp();
  line.add(waiting("a", "https://h.example/"));
  const places: number[] = [];
  for (let round = 0; round < 7; round++) {
    const turns = turnsOf(line);
    places.push(turns[0]?.places.length ?? 0);
    leave(line, turns, true);
  }
  assert.deepEqual(places, [1, 2, 4, 8, 16, 16, 16]);
});

test("[ours.delivery.isolation] hosts have their turns one after the other, and so have the instances of one", () => {
  const { line } = setUp({ inFlightMax: 2 });
  for (const id of ["a", "b", "c"]) line.add(waiting(id, "https://long.example/"));
  line.add(waiting("d", "https://short.example/"));
  const order: string[] = [];
  for (let round = 0; round < 4; round++) {
    const turns = turnsOf(line);
    order.push(...idsOf(turns));
    leave(line, turns, true);
  }
  for (const id of ["a", "b", "c", "d"]) assert.ok(order.includes(id), `${id} in ${order}`);
});

test("[ours.delivery.isolation] a full host, a full account and a paused receiver hold up nobody else", () => {
  const { line } = setUp({ hostInFlightMax: 1, accountInFlightMax: 2 });
  for (const id of ["a", "b"]) line.add(waiting(id, "https://h.example/"));
  for (const id of ["c", "d"]) line.add(waiting(id, `https://${id}.example/`));
  line.add(waiting("e", "https://c.example/", "other"));
  line.add(waiting("f", "https://f.example/", "other"));
  const paused = waiting("g", "https://g.example/bad", "third");
  line.add(paused);
  fail(line, paused, REJECTED);
  line.add(waiting("h", "https://g.example/good", "third"));
  // a takes the host, c the host and the rest of the account; e finds its host full.
  assert.deepEqual(idsOf(turnsOf(line)), ["a", "c", "f", "h"]);
});

test("[ours.delivery.breaker] failing to reach a host pauses its line, and the other port has another", () => {
  const { line } = setUp();
  const dead = waiting("a", "https://h.example:8443/");
  for (const each of [dead, waiting("b", "https://h.example:8443/b")]) line.add(each);
  line.add(waiting("c", "https://h.example/"));
  fail(line, dead, UNREACHABLE);
  assert.deepEqual(idsOf(turnsOf(line)), ["c"]);
  const probes = turnsOf(line, NOW + 5_000);
  assert.equal(probes.length, 1, "one probe for both");
  line.ended(dead, ACKNOWLEDGED, NOW + 5_000);
  leave(line, probes, false);
  assert.deepEqual(idsOf(turnsOf(line, NOW + 5_000)), ["b"]);
});

test("[ours.delivery.breaker] whoever hurries is not kept waiting by a pause or a rest", () => {
  const { line } = setUp();
  const instance = waiting("a", "https://h.example/");
  line.add(instance);
  const [turn] = turnsOf(line);
  assert.ok(turn);
  for (const place of turn.places) place();
  line.rest(turn, NOW);
  fail(line, instance, UNREACHABLE);
  assert.deepEqual(idsOf(turnsOf(line, NOW + 1)), []);
  line.hurry("a");
  assert.deepEqual(idsOf(turnsOf(line, NOW + 1)), ["a"]);
  line.hurry("nobody");
});

test("who rests comes again after fifteen seconds, also when the clock is set back", () => {
  for (const [restsAt, back] of [
    [NOW, NOW + 15_000],
    [NOW + 24 * 3_600_000, NOW],
  ] as const) {
    const { line } = setUp();
    line.add(waiting("a", "https://h.example/"));
    const [turn] = turnsOf(line);
    assert.ok(turn);
    line.rest(turn, restsAt);
    assert.deepEqual(idsOf(turnsOf(line, restsAt + 14_999)), []);
    assert.deepEqual(idsOf(turnsOf(line, back)), ["a"]);
  }
});

test("a receiver that was replaced begins anew, and the turn before says nothing of it", () => {
  const { line } = setUp();
  const before = waiting("a", "https://h.example/old");
  line.add(before);
  fail(line, before, REJECTED);
  assert.deepEqual(idsOf(turnsOf(line)), []);
  line.add(waiting("a", "https://h.example/new"));
  const [turn] = turnsOf(line);
  assert.ok(turn);
  line.add(waiting("a", "https://h.example/newer"));
  line.served(turn, false);
  line.rest(turn, NOW);
  assert.deepEqual(idsOf(turnsOf(line)), ["a"]);
  assert.equal(line.size, 1);
});

test("where there is no receiver there is a turn without places", () => {
  const { line } = setUp({ accountInFlightMax: 1 });
  line.add(waiting("a", "https://h.example/"));
  line.add(waiting("gone", null));
  line.add(waiting("invalid", "http://not.acceptable/"));
  const turns = turnsOf(line);
  assert.deepEqual(
    turns.map(({ instance, places }) => [instance.instanceId, places.length]),
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
    const { line, limits } = setUp(bounds);
    for (let i = 0; i < 10_000; i++) line.add(waiting(`${i}`, urlOf(i)));
    assert.equal(turnsOf(line).length, 4);
    const { asked } = limits;
    assert.ok(asked <= 10, `asked ${asked} times`);
    assert.equal(turnsOf(line).length, 0);
    assert.ok(limits.asked - asked <= 1, `asked ${limits.asked - asked} times more`);
  });
}

test("what is left of a line that has been served is nothing", () => {
  const { line, limits } = setUp({ hostInFlightMax: 3 });
  for (let i = 0; i < 50; i++) line.add(waiting(`${i}`, `https://h${i % 7}.example/`));
  for (let round = 0; round < 100 && line.size > 0; round++) leave(line, turnsOf(line), round < 3);
  assert.deepEqual([line.size, limits.size], [0, 0]);
});
