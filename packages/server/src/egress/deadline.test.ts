import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { Deadline, untilAborted } from "./deadline.ts";

test("a deadline is over at its time, unless the message is over before", () => {
  const clock = new ManualClock();
  const [deadline, disarmed] = [new Deadline(clock, 9_000), new Deadline(clock, 9_000)];
  disarmed.disarm();
  clock.advance(8_999);
  assert.equal(deadline.signal.aborted, false);
  clock.advance(1);
  assert.equal(deadline.signal.aborted, true);
  assert.equal(disarmed.signal.aborted, false);
});

test("a deadline reads two clocks, and the one ahead counts", () => {
  for (const move of [
    (clock: ManualClock) => clock.set(clock.now() + 9_000),
    (clock: ManualClock) => clock.stop(9_000),
    (clock: ManualClock) => {
      clock.stop(9_000);
      clock.set(clock.now() - 60_000);
    },
  ]) {
    const clock = new ManualClock();
    const deadline = new Deadline(clock, 9_000);
    deadline.check();
    assert.deepEqual([deadline.signal.aborted, deadline.leftMs], [false, 9_000]);
    move(clock);
    assert.deepEqual([deadline.signal.aborted, deadline.leftMs], [false, 0]);
    deadline.check();
    assert.equal(deadline.signal.aborted, true);
  }
});

test("a deadline that is given a moment ends then, also if it is made after it", () => {
  const clock = new ManualClock();
  const endsBy = clock.monotonic() + 5_000;
  assert.equal(new Deadline(clock, 9_000, endsBy).leftMs, 5_000);
  assert.equal(new Deadline(clock, 1_000, endsBy).leftMs, 1_000);
  clock.stop(60_000);
  const late = new Deadline(clock, 9_000, endsBy);
  late.check();
  assert.equal(late.signal.aborted, true);
});

test("the first reason to end a message is reported", () => {
  const clock = new ManualClock();
  const [late, cut] = [new Deadline(clock, 1), new Deadline(clock, 1)];
  cut.cut();
  clock.advance(1);
  late.cut();
  assert.deepEqual([late.reason, cut.reason], ["timeout", "reset"]);
});

test("waiting ends with the promise or the signal, whichever is first", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  assert.equal(await untilAborted(Promise.resolve(1), signal), 1);
  await assert.rejects(untilAborted(Promise.reject(new Error("failed")), signal), /failed/);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  const never = new Promise(() => {});
  const waiting = untilAborted(never, signal);
  controller.abort(new Error("too late"));
  await assert.rejects(waiting, /too late/);
  await assert.rejects(untilAborted(never, signal), /too late/);
});
