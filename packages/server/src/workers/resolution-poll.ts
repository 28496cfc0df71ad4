/**
 * Finds requests that other replicas resolved and that a long poll here waits for: all of them
 * every second, single ones when another replica names them. Only needed where other processes
 * can resolve requests.
 */

import type { Context } from "../context.ts";
import { wakeResolved } from "../operations/requests/wakeResolved.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";

const INTERVAL_MS = 1_000;

export interface AwaitedWorker extends Worker {
  /** Checks soon. @param requestIds of requests with long polls, or all of them */
  check(requestIds: readonly string[] | "all"): void;
}

export function startResolutionPoll(context: Context, report: Report): AwaitedWorker {
  const { clock, wake } = context;
  /** Checked in the next run. */
  const named = new Set<string>();
  /** Monotonic: named requests never delay the check of all. */
  let allAt = clock.monotonic() + INTERVAL_MS;
  const loop = new TimerLoop(clock, report, {
    name: "wake",
    intervalMs: INTERVAL_MS,
    firstDelayMs: INTERVAL_MS,
    async run() {
      const isForAll = clock.monotonic() >= allAt;
      if (isForAll) allAt = clock.monotonic() + INTERVAL_MS;
      const requestIds = isForAll ? wake.awaited() : [...named];
      named.clear();
      await wakeResolved(context, requestIds);
      return clock.now() + Math.ceil(allAt - clock.monotonic());
    },
  });
  return {
    check(requestIds) {
      if (requestIds === "all") allAt = clock.monotonic();
      else for (const id of requestIds) named.add(id);
      loop.runNow();
    },
    stop: () => loop.stop(),
  };
}
