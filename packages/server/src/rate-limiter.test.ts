import assert from "node:assert/strict";
import { test } from "node:test";
import { RateLimiter } from "./rate-limiter.ts";

function limiter(perSecond: number): { limiter: RateLimiter; advance: (ms: number) => void } {
  let now = 0;
  return {
    limiter: new RateLimiter(perSecond, { now: () => now }),
    advance: (ms) => {
      now += ms;
    },
  };
}

test("[ours.limit.rate] twice the rate may come at once, then the rate, and the wait is told", () => {
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
