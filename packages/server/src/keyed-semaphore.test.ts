import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyedSemaphore } from "./keyed-semaphore.ts";
import { RateLimiter } from "./rate-limiter.ts";

test("slots are limited for each key and for all keys together", () => {
  const semaphore = new KeyedSemaphore({ perKeyMax: 2, totalMax: 3 });
  const release = semaphore.tryAcquire("a");
  semaphore.tryAcquire("a");
  assert.equal(semaphore.tryAcquire("a"), undefined);
  assert.equal(semaphore.isFull, false);
  assert.equal(semaphore.room("b"), 1);
  semaphore.tryAcquire("b");
  assert.equal(semaphore.isFull, true);
  assert.equal(semaphore.tryAcquire("c"), undefined);
  assert.equal(semaphore.waitMs("c"), Number.POSITIVE_INFINITY);
  release?.();
  assert.equal(semaphore.inUse("a"), 1);
  assert.equal(semaphore.waitMs("c"), 0);
});

test("a second release of the same slot has no effect, and free keys are not kept", () => {
  const semaphore = new KeyedSemaphore({ perKeyMax: 2 });
  const release = semaphore.tryAcquire("a");
  const other = semaphore.tryAcquire("a");
  release?.();
  release?.();
  assert.deepEqual([semaphore.inUse("a"), semaphore.size], [1, 1]);
  other?.();
  assert.equal(semaphore.size, 0);
});

test("a slot is also charged to the rate of its key, and a failed attempt charges nothing", () => {
  const clock = { ms: 0, now: () => clock.ms };
  const rate = new RateLimiter(1, clock);
  const semaphore = new KeyedSemaphore({ perKeyMax: 1, rate });
  const release = semaphore.tryAcquire("a");
  for (let i = 0; i < 10; i++) assert.equal(semaphore.tryAcquire("a"), undefined);
  release?.();
  assert.equal(semaphore.room("a"), 1);
  semaphore.tryAcquire("a")?.();
  assert.deepEqual([semaphore.room("a"), semaphore.waitMs("a")], [0, 1_000]);
  clock.ms += 1_000;
  assert.deepEqual([semaphore.room("a"), semaphore.waitMs("a")], [1, 0]);
});
