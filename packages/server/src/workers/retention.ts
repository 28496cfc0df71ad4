/**
 * Purges rows whose retention has ended, and finishes interrupted deletions: once at the start,
 * then every few minutes, and at once while more remain.
 */

import type { Context } from "../context.ts";
import { finishDeletions } from "../operations/instances/finishDeletions.ts";
import { purgeExpired } from "../operations/operate/purgeExpired.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";

const INTERVAL_MS = 5 * 60_000;

/** Between two batches of a long purge, so that requests are served in between. */
const BATCH_PAUSE_MS = 5;

export function startRetention(context: Context, report: Report): Worker {
  let unfinished: readonly string[] | undefined;
  let failures: readonly unknown[] = [];
  return new TimerLoop(context.clock, report, {
    name: "retention",
    intervalMs: INTERVAL_MS,
    firstDelayMs: BATCH_PAUSE_MS,
    async run() {
      if (unfinished === undefined) await finishDeletions(context);
      const step = await purgeExpired(context, unfinished);
      if (step.purged > 0) report.rowsPurged(step.purged);
      failures = [...failures, ...step.failures];
      if (step.unfinished.length > 0) {
        unfinished = step.unfinished;
        return context.clock.now() + BATCH_PAUSE_MS;
      }
      const [failure] = failures;
      unfinished = undefined;
      failures = [];
      if (failure !== undefined) throw failure;
      return undefined;
    },
  });
}
