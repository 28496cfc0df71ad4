/**
 * Denies the pending requests that a freeze covers and its own exchange did not deny: every second,
 * and at once while more remain. Without a freeze, a run is one query on an empty index.
 */

import type { Context } from "../context.ts";
import { enforceFreezes, type FreezeProgress } from "../operations/freezes/enforceFreezes.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";

const INTERVAL_MS = 1_000;

/** Between two batches of a long denial, so that requests are served in between. */
const BATCH_PAUSE_MS = 5;

/** Interval of complete scans of frozen requests. */
const FULL_SCAN_MS = 30_000;

export function startFreeze(context: Context, report: Report): Worker {
  const progress: FreezeProgress = new Map();
  let fullScanAt = 0;
  return new TimerLoop(context.clock, report, {
    name: "freeze",
    intervalMs: INTERVAL_MS,
    firstDelayMs: 0,
    async run() {
      const now = context.clock.monotonic();
      if (now >= fullScanAt) {
        progress.clear();
        fullScanAt = now + FULL_SCAN_MS;
      }
      const { denied, more } = await enforceFreezes(context, progress);
      if (denied > 0) report.requestsFrozen(denied);
      return more ? context.clock.now() + BATCH_PAUSE_MS : undefined;
    },
  });
}
