/**
 * How fast a queue of notifications is delivered, against bare signed posts to the same
 * receivers in the same run, in turns.
 */

import { cpSync } from "node:fs";
import { join } from "node:path";
import { type Child, cpuSeconds, startChild } from "../children.ts";
import type { Options } from "../options.ts";
import { median } from "../statistics.ts";
import { reportProgress } from "../table.ts";
import { removeFolder, temporaryFolder } from "../temporary-folder.ts";
import { type ReceiverGroup, startReceivers } from "./receiver-group.ts";
import {
  countEnded,
  decideUnsent,
  NO_WEBHOOK_RATES,
  provisionReceivers,
  startNotifying,
} from "./scene.ts";

export interface Drain {
  readonly hosts: number;
  readonly notifications: number;
  readonly floor: DrainRate;
  readonly subject: DrainRate;
  /** Notifications a second for each post of the baseline. */
  readonly ratio: number;
}

export interface DrainRate {
  readonly perSecond: number;
  /** Processor time of the sender for one message, in microseconds. */
  readonly cpuUs: number;
}

const HOSTS = [1, 100];

/** So many of all warm up both sides. */
const SKIPPED = 0.5;

export async function drainQueues(options: Options): Promise<Drain[]> {
  const drains: Drain[] = [];
  for (const hosts of HOSTS) drains.push(await drainQueue(options, hosts));
  return drains;
}

/** The name that its profile is kept under. */
export function drainName(hosts: number): string {
  return `delivery-${hosts}-hosts`;
}

export const DRAIN_NAMES = HOSTS.map(drainName);

async function drainQueue(options: Options, hosts: number): Promise<Drain> {
  const { rounds, notifications } = options;
  const receivers = await startReceivers(hosts);
  const filled = temporaryFolder();
  try {
    reportProgress(`delivery: deciding ${notifications} requests of ${hosts} instances`);
    await fillQueue(receivers, filled, options);
    const turns: { floor: DrainRate; subject: DrainRate }[] = [];
    for (let round = 1; round <= rounds; round++) {
      reportProgress(`delivery: ${hosts} hosts, round ${round} of ${rounds}`);
      const floor = await runFloor(receivers, options);
      turns.push({ floor, subject: await drainOnce(receivers, filled, options) });
    }
    return {
      hosts,
      notifications,
      floor: medianRate(turns.map(({ floor }) => floor)),
      subject: medianRate(turns.map(({ subject }) => subject)),
      ratio: median(turns.map(({ floor, subject }) => subject.perSecond / floor.perSecond)),
    };
  } finally {
    await receivers.stop();
    removeFolder(filled);
  }
}

async function fillQueue(
  receivers: ReceiverGroup,
  folder: string,
  { notifications, connections }: Options,
): Promise<void> {
  const server = await startNotifying(receivers, { folder, settings: NO_WEBHOOK_RATES });
  const tokens = await provisionReceivers(receivers, server);
  await server.stop();
  await decideUnsent(folder, tokens, notifications, connections);
}

function runFloor(receivers: ReceiverGroup, options: Options): Promise<DrainRate> {
  const { port, hosts, environment } = receivers;
  const args = [port, hosts, options.connections, options.notifications].map(String);
  return timed(receivers, options, async () => {
    const program = { file: "webhooks/post-floor.ts", args, environment };
    const child: Child<unknown> = await startChild(program);
    return { pid: child.pid, stop: () => child.stop() };
  });
}

async function drainOnce(
  receivers: ReceiverGroup,
  filled: string,
  options: Options,
): Promise<DrainRate> {
  const { connections, notifications, profile } = options;
  const folder = temporaryFolder();
  cpSync(filled, folder, { recursive: true });
  const places = String(connections);
  const settings = {
    ...NO_WEBHOOK_RATES,
    webhook_in_flight_max: places,
    webhook_account_in_flight_max: places,
    webhook_host_in_flight_max: places,
    webhook_address_in_flight_max: places,
  };
  const name = drainName(receivers.hosts);
  const kept = profile === undefined ? undefined : join(profile, name);
  const rate = await timed(receivers, options, () =>
    startNotifying(receivers, { folder, settings, profile: kept }),
  );
  const acknowledged = countEnded(folder, "acknowledged");
  removeFolder(folder);
  if (acknowledged !== notifications) {
    throw new Error(`${acknowledged} of ${notifications} notifications are acknowledged`);
  }
  return rate;
}

interface Sender {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Times a sender that begins when it is started. */
async function timed(
  receivers: ReceiverGroup,
  { notifications }: Options,
  start: () => Promise<Sender>,
): Promise<DrainRate> {
  const skip = Math.ceil(notifications * SKIPPED);
  const { skipped, counted } = await receivers.count(skip, notifications);
  const sender = await start();
  await skipped;
  const cpuBefore = cpuSeconds(sender.pid);
  const { seconds, repeated } = await counted;
  const cpuS = cpuSeconds(sender.pid) - cpuBefore;
  await sender.stop();
  if (repeated > 0) throw new Error(`${repeated} notifications came more than once`);
  const count = notifications - skip;
  return { perSecond: count / seconds, cpuUs: (cpuS / count) * 1e6 };
}

function medianRate(rates: readonly DrainRate[]): DrainRate {
  return {
    perSecond: median(rates.map(({ perSecond }) => perSecond)),
    cpuUs: median(rates.map(({ cpuUs }) => cpuUs)),
  };
}
