/**
 * Resolves requests at their deadline.
 */

import type { Context } from "../context.ts";
import { expireRequests } from "../operations/requests/expireRequests.ts";
import { nextDeadline } from "../operations/requests/nextDeadline.ts";
import type { Report } from "../report.ts";
import type { Worker } from "../timer-loop.ts";
import { startTimedWork } from "./timed-work.ts";

export function startExpiry(context: Context, report: Report): Worker {
  return startTimedWork(context, report, {
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
