/**
 * Looks every second for what other replicas have resolved and somebody here waits for. Not
 * needed where no other process can resolve anything.
 */

import type { Context } from "../context.ts";
import { wakeResolved } from "../operations/wakeResolved.ts";
import type { Report } from "../report.ts";
import type { Worker } from "./worker.ts";

const SLEEP_MS = 1_000;

export function startAwaited(context: Context, report: Report): Worker {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = () => {};

  function sleep(): void {
    if (stopped) return;
    cancel = context.clock.after(SLEEP_MS, () => {
      running = work();
    });
  }

  async function work(): Promise<void> {
    try {
      await wakeResolved(context);
    } catch (error) {
      report.dependencyFailed("wake", error);
    }
    sleep();
  }

  sleep();

  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
