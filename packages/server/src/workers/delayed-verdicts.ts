/**
 * Applies delayed verdicts that are due, whichever process received them.
 */

import type { Context } from "../context.ts";
import {
  applyDelayedVerdicts,
  nextDelayedVerdict,
} from "../operations/requests/applyDelayedVerdicts.ts";
import type { Report } from "../report.ts";
import type { Worker } from "../timer-loop.ts";
import { startTimedWork } from "./timed-work.ts";

export function startDelayedVerdicts(context: Context, report: Report): Worker {
  return startTimedWork(context, report, {
    name: "holding",
    act: () => applyDelayedVerdicts(context),
    nextAt: () => nextDelayedVerdict(context),
    dueAt: (signal) => (signal.kind === "delayed" ? signal.commitsAt : undefined),
  });
}
