/**
 * Applies delayed verdicts that are due, whichever process received them.
 */

import type { Context } from "../context.ts";
import {
  applyDelayedVerdicts,
  nextDelayedVerdict,
} from "../operations/requests/applyDelayedVerdicts.ts";
import type { Report } from "../report.ts";
import { startAtTimes } from "./at-times.ts";
import type { Worker } from "./worker.ts";

export function startHolding(context: Context, report: Report): Worker {
  return startAtTimes(context, report, {
    name: "holding",
    act: () => applyDelayedVerdicts(context),
    nextAt: () => nextDelayedVerdict(context),
    dueAt: (signal) => (signal.kind === "held" ? signal.commitsAt : undefined),
  });
}
