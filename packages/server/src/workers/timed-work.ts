/**
 * Runs work that is due at known times. A signal with an earlier time wakes it. It also runs once a
 * second, for work of other replicas and after clock changes.
 */

import type { Context } from "../context.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";
import type { Signal } from "../wake/wake.ts";

const INTERVAL_MS = 1_000;

/** Pause before a retry of due work that failed. */
const RETRY_MS = 50;

export interface TimedWork {
  /** Dependency name in failure reports. */
  readonly name: string;
  /** Runs due work. @returns the number of items, and whether more may be due */
  act(): Promise<{ readonly done: number; readonly more: boolean }>;
  /** Epoch ms. */
  nextAt(): Promise<number | undefined>;
  /** When the subject of a signal is due, epoch ms; undefined for other signals. */
  dueAt(signal: Signal): number | undefined;
}

export function startTimedWork(
  { clock, wake }: Pick<Context, "clock" | "wake">,
  report: Report,
  work: TimedWork,
): Worker {
  const loop = new TimerLoop(clock, report, {
    name: work.name,
    intervalMs: INTERVAL_MS,
    firstDelayMs: 0,
    async run() {
      const startedAt = clock.now();
      const { done, more } = await work.act();
      if (more && done > 0) return startedAt;
      const due = more ? startedAt : await work.nextAt();
      if (done === 0 && due !== undefined && due <= startedAt) {
        return clock.now() + RETRY_MS;
      }
      return Math.min(due ?? Number.POSITIVE_INFINITY, clock.coalesced(startedAt + INTERVAL_MS));
    },
  });
  const unsubscribe = wake.onSignal((signal) => {
    const at = work.dueAt(signal);
    if (at !== undefined) loop.runAt(at);
  });
  return {
    stop() {
      unsubscribe();
      return loop.stop();
    },
  };
}
