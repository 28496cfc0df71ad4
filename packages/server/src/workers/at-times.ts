/**
 * Does what falls due at known times. Sleeps until the next one; what is made here with an earlier
 * time wakes it. Looks at least once a second as well, for what other replicas made and for clocks
 * that were set.
 *
 * Called by: expiry.ts, holding.ts.
 */

import type { Context } from "../context.ts";
import type { Report } from "../report.ts";
import type { Worker } from "./worker.ts";

const SLEEP_MS_MAX = 1_000;

/** Before looking again at what was due and could not be done. */
const PAUSE_MS = 50;

type Signal = Parameters<Parameters<Context["wake"]["onSignal"]>[0]>[0];

export interface Timed {
  /** As failures are told. */
  readonly name: string;
  /** Does what is due. @returns how much, and whether there may be more */
  act(): Promise<{ readonly done: number; readonly more: boolean }>;
  /** Epoch ms. */
  nextAt(): Promise<number | undefined>;
  /** When what a signal tells of falls due, epoch ms; undefined when it is about nothing here. */
  dueAt(signal: Signal): number | undefined;
}

export function startAtTimes(
  { clock, wake }: Pick<Context, "clock" | "wake">,
  report: Report,
  timed: Timed,
): Worker {
  let stopped = false;
  let working = false;
  let running: Promise<void> = Promise.resolve();
  let wakeAt = 0;
  let cancel = () => {};

  function sleepUntil(at: number): void {
    cancel();
    if (stopped) return;
    wakeAt = at;
    cancel = clock.after(Math.max(0, at - clock.now()), () => {
      // One that falls due during the work is seen when the work computes its next sleep.
      if (!working) running = work();
    });
  }

  async function work(): Promise<void> {
    working = true;
    // Far ahead while at work, so that what is made meanwhile re-arms for itself.
    wakeAt = Number.POSITIVE_INFINITY;
    const lookedAt = clock.now();
    let next = lookedAt + SLEEP_MS_MAX;
    try {
      const { done, more } = await timed.act();
      const due = more ? clock.now() : await timed.nextAt();
      const isStuck = done === 0 && due !== undefined && due <= lookedAt;
      next = Math.min(next, isStuck ? clock.now() + PAUSE_MS : (due ?? next), wakeAt);
    } catch (error) {
      report.dependencyFailed(timed.name, error);
    }
    working = false;
    sleepUntil(next);
  }

  const unsubscribe = wake.onSignal((signal) => {
    const at = timed.dueAt(signal);
    if (at !== undefined && at < wakeAt) sleepUntil(at);
  });
  sleepUntil(clock.now());

  return {
    async stop() {
      stopped = true;
      unsubscribe();
      cancel();
      await running;
    },
  };
}
