/**
 * Does work that falls due at known times. Signals with an earlier time wake it. It also runs once
 * a second, for work of other replicas and for clocks that were set.
 */

import type { Context } from "../context.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";
import type { Signal } from "../wake/wake.ts";

const INTERVAL_MS = 1_000;

/** Before retrying work that is due and could not be done. */
const RETRY_MS = 50;

export interface TimedWork {
  /** The dependency that failures are reported for. */
  readonly name: string;
  /** Does what is due. @returns how much, and whether there may be more */
  act(): Promise<{ readonly done: number; readonly more: boolean }>;
  /** Epoch ms. */
  nextAt(): Promise<number | undefined>;
  /** When the subject of a signal falls due, epoch ms; undefined for other signals. */
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
      return Math.min(due ?? Number.POSITIVE_INFINITY, startedAt + INTERVAL_MS);
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
