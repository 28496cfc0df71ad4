/**
 * Ends requests at their deadline. Sleeps until the next one; a request that is opened with an
 * earlier deadline wakes it. Looks at least once a second as well, for requests of other
 * replicas and clocks that were set.
 */

import type { Context } from "../context.ts";
import { expireRequests } from "../operations/expireRequests.ts";
import { nextDeadline } from "../operations/nextDeadline.ts";
import type { Report } from "../report.ts";
import type { Worker } from "./worker.ts";

const SLEEP_MS_MAX = 1_000;

/** Before looking again at what was due and could not be expired. */
const PAUSE_MS = 50;

export function startExpiry(context: Context, report: Report): Worker {
  const { clock, wake } = context;
  let stopped = false;
  let working = false;
  let running: Promise<void> = Promise.resolve();
  let wakeAt = 0;
  let cancel = () => {};

  function sleepUntil(at: number): void {
    cancel();
    if (stopped) return;
    wakeAt = at;
    cancel = clock.after(Math.max(0, at - clock.now()), () => {
      // One that falls due during the work is seen when the work computes its next sleep.
      if (!working) running = work();
    });
  }

  async function work(): Promise<void> {
    working = true;
    // Far ahead while at work, so that a request opened meanwhile re-arms for itself.
    wakeAt = Number.POSITIVE_INFINITY;
    const lookedAt = clock.now();
    let next = lookedAt + SLEEP_MS_MAX;
    try {
      const { expired, more } = await expireRequests(context);
      if (expired > 0) report.requestsExpired(expired);
      const due = more ? clock.now() : await nextDeadline(context);
      const isStuck = expired === 0 && due !== undefined && due <= lookedAt;
      next = Math.min(next, isStuck ? clock.now() + PAUSE_MS : (due ?? next), wakeAt);
    } catch (error) {
      report.dependencyFailed("expiry", error);
    }
    working = false;
    sleepUntil(next);
  }

  const unsubscribe = wake.onSignal((signal) => {
    if (signal.kind === "opened" && signal.deadlineAt < wakeAt) sleepUntil(signal.deadlineAt);
  });
  sleepUntil(clock.now());

  return {
    async stop() {
      stopped = true;
      unsubscribe();
      cancel();
      await running;
    },
  };
}
