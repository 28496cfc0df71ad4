import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { states, type Waiter, WIDE_BOUNDS, waitForSlots } from "../../test/support/slots.ts";
import type { WebhookBounds } from "../config/settings.ts";
import { parseCidr } from "../core/address.ts";
import { DestinationLimits, type SlotOwner } from "./destination-limits.ts";

function setUp(bounds: Partial<WebhookBounds>) {
  const clock = new ManualClock();
  return { clock, limits: new DestinationLimits({ ...WIDE_BOUNDS, ...bounds }, clock) };
}

function to(account: string, host: string): SlotOwner {
  return { account, host };
}

/** Acquires slots, and fails the test when there are none. */
function acquire(limits: DestinationLimits, account: string, host: string): () => void {
  const release = limits.tryAcquire(to(account, host));
  assert.ok(release !== undefined, `no slot for ${account} at ${host}`);
  return release;
}

function isRefused(limits: DestinationLimits, account: string, host: string): boolean {
  return limits.tryAcquire(to(account, host)) === undefined;
}

function waitForAddress(limits: DestinationLimits, address: string): Waiter {
  return waitForSlots((signal) => limits.acquireAddress(address, signal));
}

test("[event.rate-limited] messages in flight are limited for the process, the account and the host", () => {
  const { limits } = setUp({ inFlightMax: 4, accountInFlightMax: 3, hostInFlightMax: 2 });
  const release = acquire(limits, "a", "h1");
  acquire(limits, "a", "h1");
  assert.ok(isRefused(limits, "b", "h1"), "the host, over accounts");
  acquire(limits, "a", "h2");
  assert.ok(isRefused(limits, "a", "h3"), "the account, over hosts");
  acquire(limits, "b", "h3");
  assert.ok(isRefused(limits, "c", "h4"), "the process");
  release();
  assert.equal(limits.room(to("c", "h4")), 1);
  acquire(limits, "b", "h1");
});

test("a second release of the same slot has no effect", () => {
  const { limits } = setUp({ hostInFlightMax: 2 });
  const release = acquire(limits, "a", "h");
  acquire(limits, "a", "h");
  release();
  release();
  acquire(limits, "a", "h");
  assert.ok(isRefused(limits, "a", "h"));
});

test("[event.rate-limited] messages are limited per second for the account and for the host", () => {
  const { limits, clock } = setUp({ accountRate: 2, hostRate: 1 });
  for (const host of ["h1", "h1", "h2", "h2"]) acquire(limits, "a", host)();
  assert.ok(isRefused(limits, "a", "h3"), "the account, over hosts");
  assert.ok(isRefused(limits, "b", "h1"), "the host, over accounts");
  acquire(limits, "b", "h3")();
  clock.advance(500);
  acquire(limits, "a", "h3")();
  assert.ok(isRefused(limits, "a", "h4"));
  assert.ok(isRefused(limits, "c", "h2"));
  clock.advance(500);
  acquire(limits, "c", "h2")();
});

test("a failed tryAcquire uses no slot and charges no rate", () => {
  const { limits } = setUp({ accountInFlightMax: 2, hostInFlightMax: 1, accountRate: 1 });
  const release = acquire(limits, "a", "h");
  for (let i = 0; i < 10; i++) assert.ok(isRefused(limits, "a", "h"));
  assert.equal(limits.room(to("a", "free")), 1);
  release();
  assert.equal(limits.room(to("a", "h")), 1);
  assert.equal(limits.size, 0);
});

test("a host is the same however its name is written", () => {
  const { limits } = setUp({ hostInFlightMax: 1, hostVerificationsPerMinute: 1 });
  acquire(limits, "a", "example.com");
  assert.ok(isRefused(limits, "b", "EXAMPLE.com."));
  assert.equal(limits.chargeVerification(to("a", "example.com")), 0);
  assert.equal(limits.chargeVerification(to("b", "Example.com.")), 60);
});

test("[event.rate-limited] tryAcquire succeeds exactly as often as room returns", () => {
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
      const release = limits.tryAcquire(to(account, host));
      if (!stays) release?.();
      clock.advance(ms);
    }
    const room = limits.room(to("a", "h"));
    for (let i = 0; i < room; i++) acquire(limits, "a", "h");
    assert.ok(isRefused(limits, "a", "h"));
    assert.equal(limits.room(to("a", "h")), 0);
  });
  fc.assert(property, { numRuns: 300 });
});

test("[event.rate-limited] in any interval, messages stay within burst plus rate", () => {
  const step = fc.record({ ms: fc.nat(400), wanted: fc.nat(5) });
  const property = fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
    const { limits, clock } = setUp({ hostRate: 4 });
    const startedAt = clock.now();
    const times: number[] = [];
    for (const { ms, wanted } of steps) {
      clock.advance(ms);
      for (let i = 0; i < wanted; i++) {
        if (limits.tryAcquire(to(`a${i}`, "h")) !== undefined) times.push(clock.now() - startedAt);
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

test("a free slot is acquired at once, unless the signal is already aborted", async () => {
  const { limits } = setUp({ hostInFlightMax: 1 });
  assert.equal(await limits.acquire(to("a", "h"), AbortSignal.abort()), undefined);
  assert.equal(await limits.acquireAddress("192.0.2.1", AbortSignal.abort()), undefined);
  assert.equal(limits.size, 0);
  const release = await limits.acquire(to("a", "h"), new AbortController().signal);
  assert.ok(isRefused(limits, "a", "h"));
  release?.();
  acquire(limits, "a", "h");
});

test("[event.rate-limited] an address is limited over all its hosts, in slots and rate", async () => {
  const { limits, clock } = setUp({ addressInFlightMax: 2, addressRate: 1 });
  const waiters = [1, 2, 3, 4].map(() => waitForAddress(limits, "203.0.113.9"));
  const other = waitForAddress(limits, "203.0.113.10");
  assert.deepEqual(await states(...waiters), ["acquired", "acquired", "queued", "queued"]);
  assert.deepEqual(await states(other), ["acquired"]);
  assert.deepEqual([limits.size, limits.queued], [2, 2]);
  waiters[0]?.release();
  assert.deepEqual(await states(...waiters), ["acquired", "acquired", "queued", "queued"]);
  clock.advance(1_000);
  assert.deepEqual(await states(...waiters), ["acquired", "acquired", "acquired", "queued"]);
  waiters[3]?.abort();
  for (const each of [...waiters, other]) each.release();
  assert.deepEqual(await states(...waiters), ["acquired", "acquired", "acquired", "aborted"]);
  assert.deepEqual([limits.size, limits.queued], [0, 0]);
});

test("[event.rate-limited] an IPv6 network of 64 bits counts as one address", async () => {
  const { limits } = setUp({ addressInFlightMax: 1 });
  const same = ["2001:db8:1:2::1", "2001:0DB8:1:2:ffff::", "2001:db8:1:2:3:4:5:6"];
  const others = ["2a01:db8:1:2::1", "2001:db8:1:3::1", "2001:db8:1::2", "192.0.2.1", "192.0.2.2"];
  const waiters = [...same, ...others].map((address) => waitForAddress(limits, address));
  const acquired = others.map(() => "acquired");
  assert.deepEqual(await states(...waiters), ["acquired", "queued", "queued", ...acquired]);
});

test("behind a NAT64 translator every IPv4 address counts for itself", async () => {
  const prefix = parseCidr("64:ff9b::/96");
  assert.ok(prefix !== undefined);
  const limits = new DestinationLimits(
    { ...WIDE_BOUNDS, addressInFlightMax: 1 },
    new ManualClock(),
    [prefix],
  );
  const addresses = ["64:ff9b::cb00:7109", "64:ff9b::cb00:710a", "203.0.113.9"];
  const waiters = addresses.map((address) => waitForAddress(limits, address));
  assert.deepEqual(await states(...waiters), ["acquired", "acquired", "queued"]);
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

test("[verification.rate-limited] a rejected verification uses up neither the account limit nor the host limit", () => {
  const { limits } = setUp({ accountVerificationsPerMinute: 2, hostVerificationsPerMinute: 1 });
  const charge = (account: string, host: string) => limits.chargeVerification(to(account, host));
  assert.equal(charge("a", "h"), 0);
  for (let i = 0; i < 10; i++) assert.equal(charge("b", "h"), 60);
  assert.deepEqual([charge("b", "i"), charge("b", "j")], [0, 0]);
  for (let i = 0; i < 10; i++) assert.equal(charge("b", "k"), 30);
  assert.equal(charge("c", "k"), 0);
});

test("verifications without a rate are not limited, and charging them needs no slot", () => {
  const { limits } = setUp({ inFlightMax: 1 });
  acquire(limits, "a", "h");
  for (let i = 0; i < 100; i++) assert.equal(limits.chargeVerification(to("a", "h")), 0);
});
