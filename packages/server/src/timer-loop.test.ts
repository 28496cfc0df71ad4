import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock } from "../test/support/manual-clock.ts";
import { systemClock } from "./clock.ts";
import { TimerLoop } from "./timer-loop.ts";

const INTERVAL_MS = 1_000;

/** A loop whose runs end when the test says so, with the time of each start. */
function setUp(firstDelayMs = 0) {
  const clock = new ManualClock(0);
  const starts: number[] = [];
  const failures: unknown[] = [];
  let finish: (next?: number) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const report = { dependencyFailed: (...failure: unknown[]) => void failures.push(failure) };
  const loop = new TimerLoop(clock, report, {
    name: "job",
    intervalMs: INTERVAL_MS,
    firstDelayMs,
    run() {
      starts.push(clock.now());
      return new Promise((resolve, reject) => {
        finish = resolve;
        fail = reject;
      });
    },
  });
  const end = async (pauseMs?: number) => {
    finish(pauseMs === undefined ? undefined : clock.now() + pauseMs);
    await nextTurn();
  };
  const endWith = async (error: Error) => {
    fail(error);
    await nextTurn();
  };
  return { clock, loop, starts, failures, end, endWith };
}

test("a loop runs after its first delay, then after its interval or when a run says", async () => {
  const { clock, starts, end } = setUp(20);
  clock.advance(20);
  await end();
  clock.advance(INTERVAL_MS);
  await end(5);
  clock.advance(5);
  await end(Number.POSITIVE_INFINITY);
  clock.advance(60_000);
  assert.deepEqual(starts, [20, 1_020, 1_025]);
});

test("a run that fails is reported and retried after the interval", async () => {
  const { clock, starts, failures, endWith } = setUp();
  const error = new Error("down");
  clock.advance(0);
  await endWith(error);
  assert.deepEqual(failures, [["job", error]]);
  clock.advance(INTERVAL_MS - 1);
  assert.deepEqual(starts, [0]);
  clock.advance(1);
  assert.deepEqual(starts, [0, INTERVAL_MS]);
});

test("a requested time before the next run moves it, a later time does not", async () => {
  const { clock, loop, starts, end } = setUp();
  clock.advance(0);
  await end();
  loop.runAt(300);
  loop.runAt(700);
  clock.advance(INTERVAL_MS);
  assert.deepEqual(starts, [0, 300]);
});

test("a run that is requested during a run starts after it, and never beside it", async () => {
  const { clock, loop, starts, end } = setUp();
  clock.advance(0);
  loop.runNow();
  clock.advance(10);
  assert.deepEqual(starts, [0]);
  await end();
  clock.advance(0);
  assert.deepEqual(starts, [0, 10]);
});

test("stop waits for the run under way, and no run starts after it", async () => {
  const { clock, loop, starts, end } = setUp();
  clock.advance(0);
  let isStopped = false;
  const stopping = loop.stop().then(() => {
    isStopped = true;
  });
  await nextTurn();
  assert.equal(isStopped, false);
  await end(0);
  await stopping;
  loop.runNow();
  clock.advance(INTERVAL_MS);
  assert.deepEqual(starts, [0]);
});

test("loops of a clock that coalesces times run together from their second run on", async () => {
  class CoalescingClock extends ManualClock {
    override coalesced = systemClock.coalesced;
  }
  const clock = new CoalescingClock(0);
  const starts: number[] = [];
  for (const firstDelayMs of [20, 370]) {
    new TimerLoop(
      clock,
      { dependencyFailed: assert.fail },
      {
        name: "job",
        intervalMs: INTERVAL_MS,
        firstDelayMs,
        async run() {
          starts.push(clock.now());
          return undefined;
        },
      },
    );
  }
  for (let ms = 0; ms < 3_000; ms += 10) {
    clock.advance(10);
    await nextTurn();
  }
  assert.deepEqual(starts, [20, 370, 1_000, 1_000, 2_000, 2_000, 3_000, 3_000]);
});
