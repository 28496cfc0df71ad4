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

/** Between two batches of a long purge, about as long as a batch: requests are served meanwhile. */
const BATCH_PAUSE_MS = 5;

export function startRetention(context: Context, report: Report): Worker {
  return new TimerLoop(context.clock, report, {
    name: "retention",
    intervalMs: INTERVAL_MS,
    firstDelayMs: BATCH_PAUSE_MS,
    async run() {
      await finishDeletions(context);
      const { purged, more } = await purgeExpired(context);
      if (purged > 0) report.rowsPurged(purged);
      return more ? context.clock.now() + BATCH_PAUSE_MS : undefined;
    },
  });
}
