/** The workers of every server, on any database. */

import type { Context } from "../context.ts";
import { AuditDestination } from "../outbox/audit-destination.ts";
import { ChannelDestination } from "../outbox/channel-destination.ts";
import { Outbox } from "../outbox/outbox.ts";
import { PushDestination } from "../outbox/push-destination.ts";
import { WebhookDestination } from "../outbox/webhook-destination.ts";
import type { Report } from "../report.ts";
import type { Worker } from "../timer-loop.ts";
import { startChatConnections } from "./chat-connections.ts";
import { startDelayedVerdicts } from "./delayed-verdicts.ts";
import { startEscalation } from "./escalation.ts";
import { startExpiry } from "./expiry.ts";
import { startFreeze } from "./freeze.ts";
import { startOnCall } from "./oncall.ts";
import { startRetention } from "./retention.ts";
import { startSealing } from "./sealing.ts";
import { startSearch } from "./search.ts";

const ALWAYS = [
  startExpiry,
  startDelayedVerdicts,
  startEscalation,
  startFreeze,
  startRetention,
  startSealing,
  startSearch,
];

/** Starts the workers of a server. Webhook workers only start when webhooks are on. */
export function startWorkers(context: Context, report: Report): Worker[] {
  const workers: Worker[] = ALWAYS.map((start) => start(context, report));
  workers.push(new Outbox(context, report, new ChannelDestination(context, report)));
  for (const sink of context.auditSinks) {
    workers.push(new Outbox(context, report, new AuditDestination(context, report, sink)));
  }
  if (!context.settings.webhooks.enabled) return workers;
  workers.push(startChatConnections(context, report));
  workers.push(startOnCall(context, report));
  workers.push(new Outbox(context, report, new WebhookDestination(context, report)));
  workers.push(new Outbox(context, report, new PushDestination(context, report)));
  return workers;
}
