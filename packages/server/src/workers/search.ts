/**
 * Fills the full-text index from the sealed audit log: every second, and at once while more entries
 * exist.
 */

import type { Context } from "../context.ts";
import { indexRequests } from "../operations/search/indexRequests.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";

const INTERVAL_MS = 1_000;

/** Between two batches, so that requests are served in between. */
const BATCH_PAUSE_MS = 5;

export function startSearch(context: Context, report: Report): Worker {
  return new TimerLoop(context.clock, report, {
    name: "search",
    intervalMs: INTERVAL_MS,
    firstDelayMs: INTERVAL_MS,
    async run() {
      const { more } = await indexRequests(context.store);
      return more ? context.clock.now() + BATCH_PAUSE_MS : undefined;
    },
  });
}
