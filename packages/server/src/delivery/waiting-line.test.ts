import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import fc from "fast-check";
import {
  CountingClock,
  states,
  type Waiting,
  WIDE,
  wait,
} from "../../test/support/place-in-line.ts";
import { turns } from "../../test/support/until.ts";
import type { WebhookBounds } from "../config/settings.ts";
import { type Destination, DestinationLimits } from "./destination-limits.ts";

function setUp(bounds: Partial<WebhookBounds>) {
  const clock = new CountingClock();
  return { clock, limits: new DestinationLimits({ ...WIDE, ...bounds }, clock) };
}

function to(account: string, host: string): Destination {
  return { account, host };
}

/** Enters, and fails the test when there is no place. */
function enter(limits: DestinationLimits, account: string, host: string): () => void {
  const leave = limits.tryEnter(to(account, host));
  assert.ok(leave !== undefined, `no place for ${account} at ${host}`);
  return leave;
}

function isRefused(limits: DestinationLimits, account: string, host: string): boolean {
  return limits.tryEnter(to(account, host)) === undefined;
}

function waitFor(limits: DestinationLimits, account: string, host: string): Waiting {
  return wait((signal) => limits.enter(to(account, host), signal));
}

test("who waits for the same enters in the order of coming, one for each place left", async () => {
  const { limits } = setUp({ hostInFlightMax: 1 });
  const leave = enter(limits, "a", "h");
  const line = ["b", "c", "d"].map((account) => waitFor(limits, account, "h"));
  assert.deepEqual(await states(...line), ["waiting", "waiting", "waiting"]);
  assert.equal(limits.waiting, 3);
  leave();
  assert.deepEqual(await states(...line), ["entered", "waiting", "waiting"]);
  leave();
  assert.deepEqual(await states(...line), ["entered", "waiting", "waiting"]);
  line[0]?.leave();
  assert.deepEqual(await states(...line), ["entered", "entered", "waiting"]);
  line[1]?.leave();
  assert.deepEqual(await states(...line), ["entered", "entered", "entered"]);
  line[2]?.leave();
  assert.deepEqual([limits.waiting, limits.size], [0, 0]);
});

test("[event.rate-limited] who waits for a dead host holds up nobody who goes elsewhere", async () => {
  const { limits } = setUp({ hostInFlightMax: 1, inFlightMax: 2 });
  enter(limits, "a", "dead");
  const stuck = waitFor(limits, "a", "dead");
  const free = waitFor(limits, "a", "alive");
  assert.deepEqual(await states(stuck, free), ["waiting", "entered"]);
  const next = waitFor(limits, "a", "alive");
  free.leave();
  assert.deepEqual(await states(stuck, next), ["waiting", "entered"]);
});

test("a place that is left goes to the line first, not to who just asks", async () => {
  const { limits } = setUp({ inFlightMax: 1 });
  const leave = enter(limits, "a", "h");
  const waiting = waitFor(limits, "b", "i");
  leave();
  assert.ok(isRefused(limits, "c", "j"));
  assert.deepEqual(await states(waiting), ["entered"]);
});

test("[event.rate-limited] who waits for a rate enters when its time has come, with one timer", async () => {
  const { limits, clock } = setUp({ hostRate: 1 });
  enter(limits, "a", "h");
  enter(limits, "a", "h");
  const line = ["b", "c", "d"].map((account) => waitFor(limits, account, "h"));
  assert.equal(clock.timers, 1);
  clock.advance(999);
  assert.deepEqual(await states(...line), ["waiting", "waiting", "waiting"]);
  clock.advance(1);
  assert.deepEqual(await states(...line), ["entered", "waiting", "waiting"]);
  clock.advance(2_000);
  assert.deepEqual(await states(...line), ["entered", "entered", "entered"]);
  assert.equal(clock.timers, 0);
});

test("a late timer does not let who just asks overtake the line", async () => {
  for (const ask of ["tryEnter", "room"] as const) {
    const { limits, clock } = setUp({ hostRate: 1 });
    enter(limits, "a", "h");
    enter(limits, "a", "h");
    const waiting = waitFor(limits, "b", "h");
    clock.set(clock.now() + 1_000);
    assert.equal(limits[ask](to("c", "h")) ?? 0, 0);
    assert.deepEqual(await states(waiting), ["entered"]);
  }
});

test("who needs a place and a rate waits for both", async () => {
  const { limits, clock } = setUp({ hostInFlightMax: 2, hostRate: 1 });
  const leave = enter(limits, "a", "h");
  const leaveLater = enter(limits, "a", "h");
  const waiting = waitFor(limits, "b", "h");
  assert.equal(clock.timers, 0);
  clock.advance(500);
  leave();
  assert.equal(clock.timers, 1);
  assert.deepEqual(await states(waiting), ["waiting"]);
  clock.advance(499);
  leaveLater();
  assert.deepEqual(await states(waiting), ["waiting"]);
  clock.advance(1);
  assert.deepEqual(await states(waiting), ["entered"]);
});

test("who gives up leaves the line, takes nothing and leaves no timer behind", async () => {
  const { limits, clock } = setUp({ hostInFlightMax: 1, accountRate: 1 });
  const leave = enter(limits, "a", "h");
  const first = waitFor(limits, "a", "h");
  const second = waitFor(limits, "b", "h");
  first.giveUp();
  assert.deepEqual(await states(first, second), ["gave up", "waiting"]);
  leave();
  assert.deepEqual(await states(first, second), ["gave up", "entered"]);
  enter(limits, "a", "i");
  const third = waitFor(limits, "a", "j");
  assert.equal(clock.timers, 1);
  third.giveUp();
  assert.deepEqual(await states(third), ["gave up"]);
  assert.deepEqual([clock.timers, limits.waiting], [0, 0]);
  second.giveUp();
  assert.deepEqual(await states(second), ["entered"]);
  second.leave();
  assert.equal(limits.room(to("c", "h")), 1);
});

test("who has entered listens to its signal no more", async () => {
  const { limits } = setUp({ hostInFlightMax: 1 });
  const { signal } = new AbortController();
  const leave = enter(limits, "a", "h");
  const entered = limits.enter(to("b", "h"), signal);
  assert.equal(getEventListeners(signal, "abort").length, 1);
  leave();
  await entered;
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("[event.rate-limited] whatever comes, no bound is passed, nobody is forgotten, nothing is left behind", async () => {
  const kinds = ["try", "enter", "enter", "leave", "leave", "give up", "advance"] as const;
  const step = fc.record({
    kind: fc.constantFrom(...kinds),
    account: fc.constantFrom("a", "b", "c"),
    host: fc.constantFrom("h", "i", "j"),
    which: fc.nat(1_000),
    ms: fc.nat(900),
  });
  const bounds = { inFlightMax: 5, accountInFlightMax: 3, hostInFlightMax: 2, hostRate: 3 };
  const property = fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
    const { limits, clock } = setUp(bounds);
    const all: { readonly at: Destination; readonly one: Waiting; hasLeft: boolean }[] = [];
    for (const { kind, account, host, which, ms } of steps) {
      const at = to(account, host);
      const chosen = all[which % Math.max(1, all.length)];
      if (kind === "advance") clock.advance(ms);
      else if (kind === "give up") chosen?.one.giveUp();
      else if (kind === "enter") {
        all.push({ at, one: waitFor(limits, account, host), hasLeft: false });
      } else if (kind === "try") {
        const leave = limits.tryEnter(at);
        const one: Waiting = { state: "entered", leave: leave ?? (() => {}), giveUp: () => {} };
        if (leave !== undefined) all.push({ at, one, hasLeft: false });
      } else if (chosen?.one.state === "entered") {
        chosen.one.leave();
        chosen.hasLeft = true;
      }
      await turns(1);
      const inside = all.filter(({ one, hasLeft }) => one.state === "entered" && !hasLeft);
      assert.ok(inside.length <= 5);
      for (const name of ["a", "b", "c"]) {
        assert.ok(inside.filter(({ at }) => at.account === name).length <= 3);
      }
      for (const name of ["h", "i", "j"]) {
        assert.ok(inside.filter(({ at }) => at.host === name).length <= 2);
      }
      const waiting = all.filter(({ one }) => one.state === "waiting");
      assert.equal(limits.waiting, waiting.length);
      for (const { at } of waiting) assert.equal(limits.room(at), 0, "somebody is forgotten");
    }
    for (let round = 0; round < 100 && limits.size + limits.waiting > 0; round++) {
      for (const each of all) {
        if (each.one.state !== "entered") continue;
        each.one.leave();
        each.hasLeft = true;
      }
      clock.advance(100);
      await turns(1);
    }
    assert.deepEqual([limits.size, limits.waiting, clock.timers], [0, 0, 0]);
  });
  await fc.assert(property, { numRuns: 100 });
});
