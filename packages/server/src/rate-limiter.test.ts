import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RateLimiter } from "./rate-limiter.ts";

function limiter(
  perSecond: number,
  burst?: number,
): { limiter: RateLimiter; advance: (ms: number) => void } {
  let now = 0;
  return {
    limiter: new RateLimiter(perSecond, { now: () => now }, burst),
    advance: (ms) => {
      now += ms;
    },
  };
}

test("[ours.limit.rate] a burst of twice the rate passes, then the rate, and the wait is returned", () => {
  const { limiter: limit, advance } = limiter(2);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => limit.take("a")),
    [0, 0, 0, 0],
  );
  assert.equal(limit.take("a"), 1);
  advance(500);
  assert.equal(limit.take("a"), 0);
  assert.equal(limit.take("a"), 1);
});

test("[ours.limit.rate] large work is paid for by the exchanges after it, of the same key only", () => {
  const { limiter: limit, advance } = limiter(2);
  assert.equal(limit.take("a"), 0);
  limit.charge("a", 10);
  assert.equal(limit.take("a"), 4);
  assert.equal(limit.take("b"), 0);
  advance(4_000);
  assert.equal(limit.take("a"), 0);
});

test("[ours.limit.rate.configurable] a rate of 0 limits nothing", () => {
  const { limiter: limit } = limiter(0);
  limit.charge("a", 1_000_000);
  for (let i = 0; i < 1_000; i++) assert.equal(limit.take("a"), 0);
});

test("a rate of 0 means unlimited", () => {
  const { limiter: limit } = limiter(0);
  limit.charge("a", 1_000_000);
  assert.equal(limit.take("a"), 0);
  assert.equal(limit.room("a"), Number.POSITIVE_INFINITY);
  assert.equal(limit.waitMs("a"), 0);
  assert.equal(limit.size, 0);
});

test("to ask for the room or the wait takes nothing", () => {
  const { limiter: limit, advance } = limiter(2);
  for (let i = 0; i < 10; i++) {
    assert.equal(limit.room("a"), 4);
    assert.equal(limit.waitMs("a"), 0);
  }
  assert.equal(limit.size, 0);
  for (const left of [3, 2, 1, 0]) {
    limit.take("a");
    assert.equal(limit.room("a"), left);
  }
  assert.equal(limit.waitMs("a"), 500);
  advance(499);
  assert.equal(limit.waitMs("a"), 1);
  assert.equal(limit.room("a"), 0);
  assert.equal(limit.take("a"), 1);
  advance(1);
  assert.equal(limit.waitMs("a"), 0);
  assert.equal(limit.room("a"), 1);
});

test("[ours.limit.rate] a long rest does not make up for large work after it", () => {
  const { limiter: limit, advance } = limiter(2);
  for (let i = 0; i < 4; i++) limit.take("a");
  advance(3_600_000);
  limit.charge("a", 10);
  assert.equal(limit.take("a"), 4);
});

test("a burst of its own goes with a slow rate", () => {
  const { limiter: limit, advance } = limiter(10 / 60, 10);
  for (let i = 0; i < 10; i++) assert.equal(limit.take("a"), 0);
  assert.equal(limit.take("a"), 6);
  advance(6_000);
  assert.equal(limit.take("a"), 0);
  advance(3_600_000);
  assert.equal(limit.room("a"), 10);
});

test("a rate below one in two seconds still lets one through", () => {
  const { limiter: limit, advance } = limiter(0.1);
  assert.equal(limit.take("a"), 0);
  assert.equal(limit.take("a"), 10);
  advance(10_000);
  assert.equal(limit.take("a"), 0);
});

test("a clock that is set back stops the refill and does not turn it round", () => {
  const { limiter: limit, advance } = limiter(1);
  limit.take("a");
  limit.take("a");
  advance(-3_600_000);
  assert.equal(limit.waitMs("a"), 1_000);
  advance(1_000);
  assert.equal(limit.take("a"), 0);
});

test("the limiter removes keys with full buckets and keeps all others", () => {
  const { limiter: limit, advance } = limiter(1);
  limit.charge("busy", 1_000_000);
  for (let i = 0; i < 1_000; i++) limit.take(`a${i}`);
  assert.equal(limit.size, 1_001);
  advance(10_000);
  for (let i = 0; i < 1_001; i++) limit.take(`b${i}`);
  assert.ok(limit.size <= 1_002, `${limit.size} keys`);
  assert.equal(limit.room("busy"), 0);
});

test("many keys at once are bounded", () => {
  const { limiter: limit } = limiter(1);
  for (let i = 0; i < 100_500; i++) limit.take(`${i}`);
  assert.equal(limit.size, 100_000);
});

test("[ours.limit.rate] a caller that waits as long as returned passes", () => {
  const step = fc.record({ tokens: fc.nat(50), ms: fc.nat(5_000) });
  const rate = fc.double({ min: 0.01, max: 1_000, noNaN: true });
  const property = fc.property(rate, fc.array(step, { maxLength: 20 }), (perSecond, steps) => {
    for (const unit of ["ms", "s"]) {
      const { limiter: limit, advance } = limiter(perSecond);
      for (const { tokens, ms } of steps) {
        limit.charge("a", tokens);
        advance(ms);
      }
      advance(unit === "ms" ? limit.waitMs("a") : 0);
      const room = limit.room("a");
      const waitS = limit.take("a");
      assert.equal(waitS === 0, room > 0);
      if (unit === "ms") assert.equal(waitS, 0);
      advance(waitS * 1000);
      if (waitS > 0) assert.equal(limit.take("a"), 0);
      if (waitS === 0) assert.equal(limit.room("a"), room - 1);
    }
  });
  fc.assert(property, { numRuns: 500 });
});
