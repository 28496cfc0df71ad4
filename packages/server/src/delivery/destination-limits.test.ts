import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { states, type Waiting, WIDE, wait } from "../../test/support/place-in-line.ts";
import type { WebhookBounds } from "../config/settings.ts";
import { parseCidr } from "../core/address.ts";
import { type Destination, DestinationLimits } from "./destination-limits.ts";

function setUp(bounds: Partial<WebhookBounds>) {
  const clock = new ManualClock();
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

function waitForAddress(limits: DestinationLimits, address: string): Waiting {
  return wait((signal) => limits.enterAddress(address, signal));
}

test("[event.rate-limited] what is in flight is bounded for the process, the account and the host", () => {
  const { limits } = setUp({ inFlightMax: 4, accountInFlightMax: 3, hostInFlightMax: 2 });
  const leave = enter(limits, "a", "h1");
  enter(limits, "a", "h1");
  assert.ok(isRefused(limits, "b", "h1"), "the host, over accounts");
  enter(limits, "a", "h2");
  assert.ok(isRefused(limits, "a", "h3"), "the account, over hosts");
  enter(limits, "b", "h3");
  assert.ok(isRefused(limits, "c", "h4"), "the process");
  leave();
  assert.equal(limits.room(to("c", "h4")), 1);
  enter(limits, "b", "h1");
});

test("to leave twice leaves once", () => {
  const { limits } = setUp({ hostInFlightMax: 2 });
  const leave = enter(limits, "a", "h");
  enter(limits, "a", "h");
  leave();
  leave();
  enter(limits, "a", "h");
  assert.ok(isRefused(limits, "a", "h"));
});

test("[event.rate-limited] messages are limited per second for the account and for the host", () => {
  const { limits, clock } = setUp({ accountRate: 2, hostRate: 1 });
  for (const host of ["h1", "h1", "h2", "h2"]) enter(limits, "a", host)();
  assert.ok(isRefused(limits, "a", "h3"), "the account, over hosts");
  assert.ok(isRefused(limits, "b", "h1"), "the host, over accounts");
  enter(limits, "b", "h3")();
  clock.advance(500);
  enter(limits, "a", "h3")();
  assert.ok(isRefused(limits, "a", "h4"));
  assert.ok(isRefused(limits, "c", "h2"));
  clock.advance(500);
  enter(limits, "c", "h2")();
});

test("who is refused takes nothing, neither a place nor one of a rate", () => {
  const { limits } = setUp({ accountInFlightMax: 2, hostInFlightMax: 1, accountRate: 1 });
  const leave = enter(limits, "a", "h");
  for (let i = 0; i < 10; i++) assert.ok(isRefused(limits, "a", "h"));
  assert.equal(limits.room(to("a", "free")), 1);
  leave();
  assert.equal(limits.room(to("a", "h")), 1);
  assert.equal(limits.size, 0);
});

test("a host is the same however its name is written", () => {
  const { limits } = setUp({ hostInFlightMax: 1, hostVerificationsPerMinute: 1 });
  enter(limits, "a", "example.com");
  assert.ok(isRefused(limits, "b", "EXAMPLE.com."));
  assert.equal(limits.chargeVerification(to("a", "example.com")), 0);
  assert.equal(limits.chargeVerification(to("b", "Example.com.")), 60);
});

test("[event.rate-limited] room is what can be entered: messages that find it go, the next does not", () => {
  const bound = fc.integer({ min: 1, max: 6 });
  const rate = fc.constantFrom(0, 0.3, 1, 2.5);
  const bounds = fc.record({
    inFlightMax: bound,
    accountInFlightMax: bound,
    hostInFlightMax: bound,
    accountRate: rate,
    hostRate: rate,
  });
  const before = fc.record({
    account: fc.constantFrom("a", "b"),
    host: fc.constantFrom("h", "i"),
    stays: fc.boolean(),
    ms: fc.nat(700),
  });
  const property = fc.property(bounds, fc.array(before, { maxLength: 20 }), (bounds, steps) => {
    const { limits, clock } = setUp(bounds);
    for (const { account, host, stays, ms } of steps) {
      const leave = limits.tryEnter(to(account, host));
      if (!stays) leave?.();
      clock.advance(ms);
    }
    const room = limits.room(to("a", "h"));
    for (let i = 0; i < room; i++) enter(limits, "a", "h");
    assert.ok(isRefused(limits, "a", "h"));
    assert.equal(limits.room(to("a", "h")), 0);
  });
  fc.assert(property, { numRuns: 300 });
});

test("[event.rate-limited] whatever comes, no time sees more than a burst and what its rate allows", () => {
  const step = fc.record({ ms: fc.nat(400), wanted: fc.nat(5) });
  const property = fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
    const { limits, clock } = setUp({ hostRate: 4 });
    const begun = clock.now();
    const times: number[] = [];
    for (const { ms, wanted } of steps) {
      clock.advance(ms);
      for (let i = 0; i < wanted; i++) {
        if (limits.tryEnter(to(`a${i}`, "h")) !== undefined) times.push(clock.now() - begun);
      }
    }
    for (const [i, from] of times.entries()) {
      for (const [j, until] of times.entries()) {
        if (j >= i) assert.ok(j - i + 1 <= 8 + 4 * ((until - from) / 1000) + 1e-6);
      }
    }
  });
  fc.assert(property, { numRuns: 100 });
});

test("who finds a place need not wait, unless it has given up before", async () => {
  const { limits } = setUp({ hostInFlightMax: 1 });
  assert.equal(await limits.enter(to("a", "h"), AbortSignal.abort()), undefined);
  assert.equal(await limits.enterAddress("192.0.2.1", AbortSignal.abort()), undefined);
  assert.equal(limits.size, 0);
  const leave = await limits.enter(to("a", "h"), new AbortController().signal);
  assert.ok(isRefused(limits, "a", "h"));
  leave?.();
  enter(limits, "a", "h");
});

test("[event.rate-limited] an address is limited over all hosts that have it, in places and rate", async () => {
  const { limits, clock } = setUp({ addressInFlightMax: 2, addressRate: 1 });
  const line = [1, 2, 3, 4].map(() => waitForAddress(limits, "203.0.113.9"));
  const other = waitForAddress(limits, "203.0.113.10");
  assert.deepEqual(await states(...line), ["entered", "entered", "waiting", "waiting"]);
  assert.deepEqual(await states(other), ["entered"]);
  assert.deepEqual([limits.size, limits.waiting], [2, 2]);
  line[0]?.leave();
  assert.deepEqual(await states(...line), ["entered", "entered", "waiting", "waiting"]);
  clock.advance(1_000);
  assert.deepEqual(await states(...line), ["entered", "entered", "entered", "waiting"]);
  line[3]?.giveUp();
  for (const each of [...line, other]) each.leave();
  assert.deepEqual(await states(...line), ["entered", "entered", "entered", "gave up"]);
  assert.deepEqual([limits.size, limits.waiting], [0, 0]);
});

test("[event.rate-limited] an IPv6 network of 64 bits counts as one address", async () => {
  const { limits } = setUp({ addressInFlightMax: 1 });
  const same = ["2001:db8:1:2::1", "2001:0DB8:1:2:ffff::", "2001:db8:1:2:3:4:5:6"];
  const others = ["2a01:db8:1:2::1", "2001:db8:1:3::1", "2001:db8:1::2", "192.0.2.1", "192.0.2.2"];
  const line = [...same, ...others].map((address) => waitForAddress(limits, address));
  const entered = others.map(() => "entered");
  assert.deepEqual(await states(...line), ["entered", "waiting", "waiting", ...entered]);
});

test("behind a NAT64 translator every IPv4 address counts for itself", async () => {
  const prefix = parseCidr("64:ff9b::/96");
  assert.ok(prefix !== undefined);
  const limits = new DestinationLimits({ ...WIDE, addressInFlightMax: 1 }, new ManualClock(), [
    prefix,
  ]);
  const addresses = ["64:ff9b::cb00:7109", "64:ff9b::cb00:710a", "203.0.113.9"];
  const line = addresses.map((address) => waitForAddress(limits, address));
  assert.deepEqual(await states(...line), ["entered", "entered", "waiting"]);
});

test("[verification.rate-limited] verifications are limited per minute, for the account and for the host", () => {
  const { limits, clock } = setUp({
    accountVerificationsPerMinute: 4,
    hostVerificationsPerMinute: 2,
  });
  const charge = (account: string, host: string) => limits.chargeVerification(to(account, host));
  assert.deepEqual([charge("a", "h"), charge("b", "h"), charge("c", "h")], [0, 0, 30]);
  assert.deepEqual([charge("a", "i"), charge("a", "j"), charge("a", "k")], [0, 0, 0]);
  assert.equal(charge("a", "l"), 15);
  assert.equal(charge("a", "h"), 30);
  clock.advance(14_000);
  assert.equal(charge("a", "l"), 1);
  clock.advance(999);
  assert.equal(charge("a", "l"), 1);
  clock.advance(1);
  assert.equal(charge("a", "l"), 0);
  assert.deepEqual([charge("c", "h"), charge("c", "i")], [15, 0]);
  clock.advance(3_600_000);
  for (let i = 0; i < 4; i++) assert.equal(charge("a", `m${i}`), 0);
  assert.equal(charge("a", "n"), 15);
});

test("[verification.rate-limited] a verification that is refused charges neither account nor host", () => {
  const { limits } = setUp({ accountVerificationsPerMinute: 2, hostVerificationsPerMinute: 1 });
  const charge = (account: string, host: string) => limits.chargeVerification(to(account, host));
  assert.equal(charge("a", "h"), 0);
  for (let i = 0; i < 10; i++) assert.equal(charge("b", "h"), 60);
  assert.deepEqual([charge("b", "i"), charge("b", "j")], [0, 0]);
  for (let i = 0; i < 10; i++) assert.equal(charge("b", "k"), 30);
  assert.equal(charge("c", "k"), 0);
});

test("verifications without a rate are not limited, and no place is needed to be charged", () => {
  const { limits } = setUp({ inFlightMax: 1 });
  enter(limits, "a", "h");
  for (let i = 0; i < 100; i++) assert.equal(limits.chargeVerification(to("a", "h")), 0);
});
