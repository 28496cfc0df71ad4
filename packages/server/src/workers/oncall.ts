/** Fetches on-call schedules from their sources. */

import type { Context } from "../context.ts";
import { refreshSchedules } from "../operations/oncall/refreshSchedules.ts";
import type { Report } from "../report.ts";
import { TimerLoop, type Worker } from "../timer-loop.ts";

const INTERVAL_MS = 5_000;

export function startOnCall(context: Context, report: Report): Worker {
  return new TimerLoop(context.clock, report, {
    name: "oncall",
    intervalMs: INTERVAL_MS,
    firstDelayMs: 0,
    async run() {
      await refreshSchedules(context);
      return undefined;
    },
  });
}
