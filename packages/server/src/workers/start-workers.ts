/**
 * The workers that every server has, whatever database it is on.
 *
 * Called by: provider.ts, and the simulator, which plays several servers.
 */

import type { Context } from "../context.ts";
import type { Report } from "../report.ts";
import type { Worker } from "../timer-loop.ts";
import { startAnnouncing } from "./announcing.ts";
import { startDelivery } from "./delivery.ts";
import { startExpiry } from "./expiry.ts";
import { startFreeze } from "./freeze.ts";
import { startHolding } from "./holding.ts";
import { startPushing } from "./pushing.ts";
import { startRetention } from "./retention.ts";
import { startSealing } from "./sealing.ts";

const ALWAYS = [
  startExpiry,
  startHolding,
  startFreeze,
  startRetention,
  startAnnouncing,
  startSealing,
];

/** Starts those of one server; those that send webhooks only where that is on. */
export function startWorkers(context: Context, report: Report): Worker[] {
  const workers = ALWAYS.map((start) => start(context, report));
  if (!context.settings.webhooks.enabled) return workers;
  return [...workers, startDelivery(context, report), startPushing(context, report)];
}
