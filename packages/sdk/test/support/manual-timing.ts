/**
 * Time under the control of the test: a sleep returns at once and is recorded. Each clock stops
 * until the test advances it.
 */

import type { Timing } from "@countersign/sdk";

export interface ManualTiming extends Timing {
  /** Every pause that was asked for, ms. */
  readonly sleeps: readonly number[];
  /** Lets time pass, on both clocks. */
  pass(ms: number): void;
  /** Sets the wall clock, as an operator's `date` would. */
  set(now: number): void;
}

/** @param now epoch ms at the start */
export function manualTiming(now = Date.now()): ManualTiming {
  let wall = now;
  let monotonic = 0;
  const sleeps: number[] = [];
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  const pass = (ms: number) => {
    wall += ms;
    monotonic += ms;
    for (const timer of timers) {
      if (timer.at > monotonic) continue;
      timers.delete(timer);
      timer.run();
    }
  };
  return {
    sleeps,
    pass,
    set: (at) => {
      wall = at;
    },
    now: () => wall,
    monotonic: () => monotonic,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      sleeps.push(ms);
      pass(ms);
    },
    after: (ms, run) => {
      const timer = { at: monotonic + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    random: () => 0,
  };
}
