/**
 * Gives verdicts that are held when their time has come, whichever process took them.
 */

import type { Context } from "../context.ts";
import { giveHeldVerdicts, nextHeld } from "../operations/requests/giveHeldVerdicts.ts";
import type { Report } from "../report.ts";
import { startAtTimes } from "./at-times.ts";
import type { Worker } from "./worker.ts";

export function startHolding(context: Context, report: Report): Worker {
  return startAtTimes(context, report, {
    name: "holding",
    act: () => giveHeldVerdicts(context),
    nextAt: () => nextHeld(context),
    dueAt: (signal) => (signal.kind === "held" ? signal.commitsAt : undefined),
  });
}
