/**
 * Looks for what other replicas have resolved and somebody here waits for: every second, and at
 * once when another replica says so. Not needed where no other process can resolve anything.
 */

import type { Context } from "../context.ts";
import { wakeResolved } from "../operations/requests/wakeResolved.ts";
import type { Report } from "../report.ts";
import type { Worker } from "./worker.ts";

const SLEEP_MS = 1_000;

export interface AwaitedWorker extends Worker {
  /** Looks now. @param requestIds of requests that somebody waits for, or all of them */
  look(requestIds: readonly string[] | "all"): void;
}

export function startAwaited(context: Context, report: Report): AwaitedWorker {
  /** To be looked at next. */
  const hinted = new Set<string>();
  let isForAll = false;
  let isStopped = false;
  let running: Promise<void> | undefined;
  let cancel = () => {};

  function look(requestIds: readonly string[] | "all"): void {
    if (isStopped) return;
    if (requestIds === "all") isForAll = true;
    else for (const id of requestIds) hinted.add(id);
    // Who comes during a look is looked at in the next, with all others that came.
    running ??= work();
  }

  async function work(): Promise<void> {
    while (isForAll || hinted.size > 0) {
      const requestIds = isForAll ? context.wake.awaited() : [...hinted];
      isForAll = false;
      hinted.clear();
      try {
        await wakeResolved(context, requestIds);
      } catch (error) {
        report.dependencyFailed("wake", error);
      }
    }
    running = undefined;
  }

  /** Not after the end of the look: with hints that never cease it may have none. */
  function lookAndSleep(): void {
    look("all");
    sleep();
  }

  function sleep(): void {
    if (!isStopped) cancel = context.clock.after(SLEEP_MS, lookAndSleep);
  }

  sleep();

  return {
    look,
    async stop() {
      isStopped = true;
      cancel();
      await running;
    },
  };
}
