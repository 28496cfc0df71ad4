/**
 * Erases what has been kept long enough, and finishes deletions that were interrupted: once at
 * start, then every few minutes, at once again while there is more.
 */

import type { Context } from "../context.ts";
import { finishDeletions } from "../operations/instances/finishDeletions.ts";
import { eraseExpired } from "../operations/operate/eraseExpired.ts";
import type { Report } from "../report.ts";
import type { Worker } from "./worker.ts";

const SLEEP_MS = 5 * 60_000;

/** Between two rounds of a long erasure, so that requests are served in between. */
const BREATH_MS = 20;

export function startRetention(context: Context, report: Report): Worker {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = () => {};

  function sleep(ms: number): void {
    if (stopped) return;
    cancel = context.clock.after(ms, () => {
      running = work();
    });
  }

  async function work(): Promise<void> {
    let pause = SLEEP_MS;
    try {
      await finishDeletions(context);
      const { erased, more } = await eraseExpired(context);
      if (erased > 0) report.rowsErased(erased);
      if (more) pause = BREATH_MS;
    } catch (error) {
      report.dependencyFailed("retention", error);
    }
    sleep(pause);
  }

  sleep(BREATH_MS);

  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
