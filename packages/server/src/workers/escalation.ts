/**
 * Applies the steps of escalations that are due, whichever process received the request.
 */

import type { Context } from "../context.ts";
import { escalateRequests, nextEscalation } from "../operations/requests/escalateRequests.ts";
import type { Report } from "../report.ts";
import type { Worker } from "../timer-loop.ts";
import { startTimedWork } from "./timed-work.ts";

export function startEscalation(context: Context, report: Report): Worker {
  return startTimedWork(context, report, {
    name: "escalation",
    act: () => escalateRequests(context),
    nextAt: () => nextEscalation(context),
    dueAt: (signal) => (signal.kind === "opened" ? signal.escalatesAt : undefined),
  });
}
