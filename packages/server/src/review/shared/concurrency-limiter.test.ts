import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "@countersign/protocol";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";

function setUp() {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const options = { totalMax: 2, sameKey: "same", otherKeys: "other" };
  const limiter = new ConcurrencyLimiter(options);
  return { limiter, release, hold: (key: string) => limiter.run(key, () => held) };
}

test("a second run of a key is rejected with 429, too many of other keys with 503", async () => {
  const { limiter, release, hold } = setUp();
  const running = [hold("a")];
  const rateLimited = { code: "rate_limited", message: "same", retryAfterS: 5 };
  const unavailable = { code: "unavailable", message: "other", retryAfterS: 5 };
  await assert.rejects(hold("a"), rateLimited);
  running.push(hold("b"));
  await assert.rejects(hold("a"), rateLimited);
  await assert.rejects(hold("c"), unavailable);
  release();
  await Promise.all(running);
  assert.equal(await limiter.run("c", async () => "done"), "done");
});

test("failed work releases its slot", async () => {
  const { limiter } = setUp();
  await assert.rejects(
    limiter.run("a", () => Promise.reject(new Error("failed"))),
    /failed/,
  );
  assert.equal(await limiter.run("a", async () => "done"), "done");
});

test("stop aborts running and later work with 503 unavailable", async () => {
  const { limiter } = setUp();
  const reasonOf = (key: string) => limiter.run(key, async ({ reason }) => reason);
  assert.equal(await reasonOf("a"), undefined);
  const { promise: aborted, resolve } = Promise.withResolvers<unknown>();
  const running = limiter.run("a", async (signal) => {
    signal.addEventListener("abort", () => resolve(signal.reason));
    return aborted;
  });
  limiter.stop();
  for (const reason of [await running, await reasonOf("b")]) {
    assert.ok(reason instanceof Problem);
    assert.deepEqual([reason.code, reason.retryAfterS], ["unavailable", 5]);
  }
});
