/**
 * Ends requests at their deadline.
 */

import type { Context } from "../context.ts";
import { expireRequests } from "../operations/requests/expireRequests.ts";
import { nextDeadline } from "../operations/requests/nextDeadline.ts";
import type { Report } from "../report.ts";
import { startAtTimes } from "./at-times.ts";
import type { Worker } from "./worker.ts";

export function startExpiry(context: Context, report: Report): Worker {
  return startAtTimes(context, report, {
    name: "expiry",
    async act() {
      const { expired, more } = await expireRequests(context);
      if (expired > 0) report.requestsExpired(expired);
      return { done: expired, more };
    },
    nextAt: () => nextDeadline(context),
    dueAt: (signal) => (signal.kind === "opened" ? signal.deadlineAt : undefined),
  });
}
