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

test("the first reason to end a message is the one that is told", () => {
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
