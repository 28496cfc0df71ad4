/**
 * Time that belongs to the test: a sleep passes at once and is noted, clocks stand still until
 * they are moved, each on its own.
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
