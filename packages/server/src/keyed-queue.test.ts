import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import fc from "fast-check";
import { CountingClock, states, type Waiter, waitForSlots } from "../test/support/slots.ts";
import { turns } from "../test/support/until.ts";
import { KeyedQueue, type SlotKeys } from "./keyed-queue.ts";
import { KeyedSemaphore } from "./keyed-semaphore.ts";
import { RateLimiter } from "./rate-limiter.ts";

interface Limits {
  readonly total?: number;
  readonly account?: number;
  readonly host?: number;
  readonly hostRate?: number;
}

/** A queue for slots of an account and a host. */
function setUp({ total = Infinity, account = Infinity, host = Infinity, hostRate = 0 }: Limits) {
  const clock = new CountingClock();
  const accounts = new KeyedSemaphore({ totalMax: total, perKeyMax: account });
  const rate = new RateLimiter(hostRate, clock);
  const hosts = new KeyedSemaphore({ perKeyMax: host, rate });
  return { clock, accounts, hosts, queue: new KeyedQueue([accounts, hosts], { clock }) };
}

/** Acquires slots, and fails the test when there are none. */
function acquire(queue: KeyedQueue, account: string, host: string): () => void {
  const release = queue.tryAcquire([account, host]);
  assert.ok(release !== undefined, `no slot for ${account} at ${host}`);
  return release;
}

function waitFor(queue: KeyedQueue, account: string, host: string): Waiter {
  return waitForSlots((signal) => queue.acquire([account, host], signal));
}

test("each released slot goes to the first waiter for it", async () => {
  const { queue, accounts, hosts } = setUp({ host: 1 });
  const release = acquire(queue, "a", "h");
  const waiters = ["b", "b", "c"].map((account) => waitFor(queue, account, "h"));
  const [first, second, third] = waiters;
  assert.deepEqual(await states(...waiters), ["queued", "queued", "queued"]);
  assert.equal(queue.size, 3);
  release();
  assert.deepEqual(await states(...waiters), ["acquired", "queued", "queued"]);
  release();
  assert.deepEqual(await states(...waiters), ["acquired", "queued", "queued"]);
  first?.release();
  assert.deepEqual(await states(...waiters), ["acquired", "queued", "acquired"]);
  third?.release();
  assert.deepEqual(await states(...waiters), ["acquired", "acquired", "acquired"]);
  second?.release();
  assert.deepEqual([queue.size, accounts.size, hosts.size], [0, 0, 0]);
});

test("keys take turns: a key with many waiters delays each other key by one turn", async () => {
  const queue = new KeyedQueue([new KeyedSemaphore({ totalMax: 1 })]);
  const order: string[] = [];
  const names = ["a1", "a2", "a3", "b1", "b2", "c1"];
  const all = names.map((name) => {
    return queue.run([name.slice(0, 1)], async () => {
      order.push(name);
      return name;
    });
  });
  assert.deepEqual(await Promise.all(all), names);
  assert.deepEqual(order, ["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("run releases its slot when the work fails", async () => {
  const queue = new KeyedQueue([new KeyedSemaphore({ perKeyMax: 1 })]);
  const failing = queue.run(["a"], () => Promise.reject(new Error("failed")));
  const next = queue.run(["a"], async () => "next");
  await assert.rejects(failing, /failed/);
  assert.equal(await next, "next");
});

test("run does not start work after the signal was aborted", async () => {
  const queue = new KeyedQueue([new KeyedSemaphore({ perKeyMax: 1 })]);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const first = queue.run(["a"], () => held);
  const controller = new AbortController();
  let starts = 0;
  const work = async () => {
    starts++;
  };
  const aborted = queue.run(["a"], work, controller.signal);
  controller.abort();
  await assert.rejects(aborted, { name: "AbortError" });
  release();
  await first;
  await assert.rejects(queue.run(["a"], work, controller.signal), { name: "AbortError" });
  assert.equal(starts, 0);
});

test("a full key rejects further waiters, and other keys do not", async () => {
  const rejection = () => new Error("full");
  const semaphore = new KeyedSemaphore({ perKeyMax: 1 });
  const queue = new KeyedQueue([semaphore], { queuedPerKeyMax: 2, rejection });
  const controller = new AbortController();
  const releaseFirst = await queue.acquire(["a"]);
  const aborted = queue.acquire(["a"], controller.signal);
  const second = queue.acquire(["a"]);
  await assert.rejects(queue.acquire(["a"]), /full/);
  assert.ok((await queue.acquire(["b"])) !== undefined);
  controller.abort();
  assert.equal(await aborted, undefined);
  const third = queue.acquire(["a"]);
  await assert.rejects(queue.acquire(["a"]), /full/);
  releaseFirst?.();
  (await second)?.();
  assert.ok((await third) !== undefined);
});

test("waiters for a full host do not delay waiters for other hosts", async () => {
  const { queue } = setUp({ host: 1, total: 2 });
  acquire(queue, "a", "dead");
  const blocked = waitFor(queue, "a", "dead");
  const other = waitFor(queue, "a", "alive");
  assert.deepEqual(await states(blocked, other), ["queued", "acquired"]);
  const next = waitFor(queue, "a", "alive");
  other.release();
  assert.deepEqual(await states(blocked, next), ["queued", "acquired"]);
});

test("a released slot goes to a waiter before a caller of tryAcquire", async () => {
  const { queue } = setUp({ total: 1 });
  const release = acquire(queue, "a", "h");
  const waiter = waitFor(queue, "b", "i");
  release();
  assert.equal(queue.tryAcquire(["c", "j"]), undefined);
  assert.deepEqual(await states(waiter), ["acquired"]);
});

test("a waiter for a rate acquires its slot when the rate permits it, with one timer", async () => {
  const { queue, clock } = setUp({ hostRate: 1 });
  acquire(queue, "a", "h");
  acquire(queue, "a", "h");
  const waiters = ["b", "c", "d"].map((account) => waitFor(queue, account, "h"));
  assert.deepEqual(await states(...waiters), ["queued", "queued", "queued"]);
  assert.equal(clock.timers, 1);
  clock.advance(999);
  assert.deepEqual(await states(...waiters), ["queued", "queued", "queued"]);
  clock.advance(1);
  assert.deepEqual(await states(...waiters), ["acquired", "queued", "queued"]);
  clock.advance(2_000);
  assert.deepEqual(await states(...waiters), ["acquired", "acquired", "acquired"]);
  assert.equal(clock.timers, 0);
});

test("when the timer is late, waiters still come before new callers", async () => {
  for (const method of ["tryAcquire", "room"] as const) {
    const { queue, clock } = setUp({ hostRate: 1 });
    acquire(queue, "a", "h");
    acquire(queue, "a", "h");
    const waiter = waitFor(queue, "b", "h");
    clock.set(clock.now() + 1_000);
    assert.equal(queue[method](["c", "h"]) ?? 0, 0);
    assert.deepEqual(await states(waiter), ["acquired"]);
  }
});

test("a waiter that needs a slot and a rate waits for both", async () => {
  const { queue, clock } = setUp({ host: 2, hostRate: 1 });
  const release = acquire(queue, "a", "h");
  const releaseOther = acquire(queue, "a", "h");
  const waiter = waitFor(queue, "b", "h");
  assert.equal(clock.timers, 0);
  clock.advance(500);
  release();
  assert.equal(clock.timers, 1);
  assert.deepEqual(await states(waiter), ["queued"]);
  clock.advance(499);
  releaseOther();
  assert.deepEqual(await states(waiter), ["queued"]);
  clock.advance(1);
  assert.deepEqual(await states(waiter), ["acquired"]);
});

test("an aborted waiter leaves the queue, uses no slot and leaves no timer", async () => {
  const { queue, clock } = setUp({ host: 1, hostRate: 1 });
  const release = acquire(queue, "a", "h");
  const first = waitFor(queue, "a", "h");
  const second = waitFor(queue, "b", "h");
  first.abort();
  assert.deepEqual(await states(first, second), ["aborted", "queued"]);
  release();
  assert.deepEqual(await states(first, second), ["aborted", "acquired"]);
  second.release();
  const third = waitFor(queue, "a", "h");
  assert.equal(clock.timers, 1);
  third.abort();
  assert.deepEqual(await states(third), ["aborted"]);
  assert.deepEqual([clock.timers, queue.size], [0, 0]);
  second.abort();
  assert.deepEqual(await states(second), ["acquired"]);
  clock.advance(1_000);
  assert.equal(queue.room(["c", "h"]), 1);
});

test("a waiter that has its slots no longer listens to its signal", async () => {
  const { queue } = setUp({ host: 1 });
  const { signal } = new AbortController();
  const release = acquire(queue, "a", "h");
  const waiting = queue.acquire(["b", "h"], signal);
  assert.equal(getEventListeners(signal, "abort").length, 1);
  release();
  await waiting;
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

interface Tracked {
  readonly keys: SlotKeys;
  readonly waiter: Waiter;
  isReleased: boolean;
}

test("no sequence of calls exceeds a limit, forgets a waiter or keeps a slot", async () => {
  const kinds = ["try", "wait", "wait", "release", "release", "abort", "advance"] as const;
  const step = fc.record({
    kind: fc.constantFrom(...kinds),
    account: fc.constantFrom("a", "b", "c"),
    host: fc.constantFrom("h", "i", "j"),
    which: fc.nat(1_000),
    ms: fc.nat(900),
  });
  const property = fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
    const limits = { total: 5, account: 3, host: 2, hostRate: 3 };
    const { queue, clock, accounts, hosts } = setUp(limits);
    const all: Tracked[] = [];
    const release = (one: Tracked | undefined) => {
      if (one?.waiter.state !== "acquired") return;
      one.waiter.release();
      one.isReleased = true;
    };
    for (const { kind, account, host, which, ms } of steps) {
      const keys = [account, host];
      const chosen = all[which % Math.max(1, all.length)];
      if (kind === "advance") clock.advance(ms);
      else if (kind === "abort") chosen?.waiter.abort();
      else if (kind === "release") release(chosen);
      else if (kind === "wait") {
        all.push({ keys, waiter: waitFor(queue, account, host), isReleased: false });
      } else {
        const acquired = queue.tryAcquire(keys);
        const waiter = waitForSlots(async () => acquired);
        if (acquired !== undefined) all.push({ keys, waiter, isReleased: false });
      }
      await turns(1);
      const inUse = all.filter(({ waiter, isReleased }) => {
        return waiter.state === "acquired" && !isReleased;
      });
      assert.ok(inUse.length <= 5);
      for (const name of ["a", "b", "c"]) {
        assert.ok(inUse.filter(({ keys }) => keys[0] === name).length <= 3);
      }
      for (const name of ["h", "i", "j"]) {
        assert.ok(inUse.filter(({ keys }) => keys[1] === name).length <= 2);
      }
      const queued = all.filter(({ waiter }) => waiter.state === "queued");
      assert.equal(queue.size, queued.length);
      for (const { keys } of queued) assert.equal(queue.room(keys), 0, "a waiter was forgotten");
    }
    for (let round = 0; round < 100 && accounts.size + queue.size > 0; round++) {
      for (const one of all) release(one);
      clock.advance(100);
      await turns(1);
    }
    assert.deepEqual([accounts.size, hosts.size, queue.size, clock.timers], [0, 0, 0, 0]);
  });
  await fc.assert(property, { numRuns: 100 });
});
