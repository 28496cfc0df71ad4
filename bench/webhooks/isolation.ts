/**
 * A dead destination with a long queue, and a healthy one beside it: how soon the healthy one
 * learns of its decisions, and what the queue costs the server.
 */

import { cpSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuSeconds, residentMb } from "../children.ts";
import { type Connection, expectAnswer } from "../connection.ts";
import { cancelMessage, createMessage, idOf } from "../messages.ts";
import { monotonicMs } from "../monotonic.ts";
import type { Options } from "../options.ts";
import { copyFirstRequest } from "../sqlite-row-copies.ts";
import { type Spread, spreadOf } from "../statistics.ts";
import { perSecond, reportProgress } from "../table.ts";
import { removeFolder, temporaryFolder } from "../temporary-folder.ts";
import { type Arrivals, watchArrivals } from "./arrivals.ts";
import { type ReceiverGroup, startReceivers } from "./receiver-group.ts";
import { decideUnsent, NO_WEBHOOK_RATES, provisionReceivers, startNotifying } from "./scene.ts";

export interface Isolation {
  /** Notifications for the destination that hangs. */
  readonly queued: number;
  /** How many of them were attempted meanwhile. */
  readonly attempts: number;
  readonly empty: Beside;
  readonly full: Beside;
}

/** A healthy destination beside the dead one. */
export interface Beside {
  readonly decisions: number;
  /** From the sending of a decision to the first byte of its notification. */
  readonly fromSendingMs: Spread;
  /** The most resident memory of the server. */
  readonly memoryMaxMb: number;
  /** Processor time of the server for each second, in seconds. */
  readonly cpu: number;
}

const DEAD = 0;
const HEALTHY = 1;

/** How long ago the oldest notification was written: well within its window. */
const OLDEST_MS = 24 * 3_600_000;

/** Half a minute: the first attempts hang for ten seconds, and then the breaker opens. */
const DECISIONS = 800;
const DECISION_EVERY_MS = 40;

export async function isolate({ queued }: Options): Promise<Isolation> {
  const receivers = await startReceivers(2);
  const [emptyFolder, fullFolder] = [temporaryFolder(), temporaryFolder()];
  try {
    const settings = NO_WEBHOOK_RATES;
    const first = await startNotifying(receivers, { folder: emptyFolder, settings });
    const tokens = await provisionReceivers(receivers, first);
    await first.stop();
    cpSync(emptyFolder, fullFolder, { recursive: true });
    reportProgress(`delivery: queueing ${perSecond(queued)} notifications`);
    await decideUnsent(fullFolder, tokens.slice(DEAD, DEAD + 1), 1, 1);
    copyFirstRequest(join(fullFolder, "countersign.db"), queued - 1, OLDEST_MS);
    receivers.behave(DEAD, "hang");
    const arrivals = watchArrivals(receivers);
    reportProgress("delivery: decisions beside an empty queue");
    const empty = await decideBeside(receivers, emptyFolder, tokens[HEALTHY] ?? "", arrivals);
    reportProgress("delivery: decisions beside the dead destination");
    const full = await decideBeside(receivers, fullFolder, tokens[HEALTHY] ?? "", arrivals);
    return { queued, attempts: arrivals.unclaimed, empty, full };
  } finally {
    await receivers.stop();
    removeFolder(emptyFolder);
    removeFolder(fullFolder);
  }
}

/** With the default limits of a server. */
async function decideBeside(
  receivers: ReceiverGroup,
  folder: string,
  token: string,
  arrivals: Arrivals,
): Promise<Beside> {
  const server = await startNotifying(receivers, { folder });
  const [connection] = server.connections;
  if (connection === undefined) throw new Error("no connection to the server");
  let memoryMaxMb = 0;
  const memory = setInterval(() => {
    memoryMaxMb = Math.max(memoryMaxMb, residentMb(server.pid));
  }, 100);
  const cpuBefore = cpuSeconds(server.pid);
  const startedAtMs = monotonicMs();
  const notified: Promise<number>[] = [];
  for (let n = 0; n < DECISIONS; n++) {
    const { id, sentAtMs } = await decide(connection, token, n);
    notified.push(arrivals.of(id).then(({ firstByteAtMs }) => firstByteAtMs - sentAtMs));
    await sleep(Math.max(0, startedAtMs + (n + 1) * DECISION_EVERY_MS - monotonicMs()));
  }
  const fromSendingMs = spreadOf(await Promise.all(notified));
  const cpu = ((cpuSeconds(server.pid) - cpuBefore) / (monotonicMs() - startedAtMs)) * 1000;
  clearInterval(memory);
  await server.stop();
  return { decisions: DECISIONS, fromSendingMs, memoryMaxMb, cpu };
}

async function decide(
  connection: Connection,
  token: string,
  n: number,
): Promise<{ readonly id: string; readonly sentAtMs: number }> {
  const created = await connection.exchange(createMessage(token, n));
  expectAnswer(created, 201, "pending");
  const id = idOf(created.body);
  const message = cancelMessage(token, id);
  const sentAtMs = monotonicMs();
  expectAnswer(await connection.exchange(message), 200, "cancelled");
  return { id, sentAtMs };
}
