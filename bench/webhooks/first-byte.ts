/**
 * From a decision to the first byte of its notification at the receiver, one at a time on a
 * server that has nothing else to do.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expectAnswer } from "../connection.ts";
import { approveMessage, createMessage, idOf } from "../messages.ts";
import { monotonicMs } from "../monotonic.ts";
import { type Spread, spreadOf } from "../statistics.ts";
import type { Server } from "../subject.ts";
import { reportProgress } from "../table.ts";
import { removeFolder, temporaryFolder } from "../temporary-folder.ts";
import { type Arrivals, watchArrivals } from "./arrivals.ts";
import type { Behaviour } from "./messages.ts";
import { startReceivers } from "./receiver-group.ts";
import { NO_WEBHOOK_RATES, provisionReceivers, startNotifying } from "./scene.ts";

export interface FirstByte {
  /** Over a connection that an earlier notification has opened. */
  readonly warm: FirstByteTimes;
  /** Over a connection of its own, TLS handshake included. */
  readonly cold: FirstByteTimes;
}

export interface FirstByteTimes {
  readonly samples: number;
  /** From the answer to the verdict, which follows the commit; 0 when the byte came first. */
  readonly fromCommitMs: Spread;
  readonly fromSendingMs: Spread;
}

const SAMPLES = 400;
/** Untimed. */
const WARM_UP = 100;

/** Long enough for the server to have nothing to do, short enough for connections to stay. */
const REST_MS = 20;

export async function timeFirstBytes(): Promise<FirstByte> {
  const receivers = await startReceivers(1);
  const folder = temporaryFolder();
  const server = await startNotifying(receivers, { folder, settings: NO_WEBHOOK_RATES });
  try {
    const [token = ""] = await provisionReceivers(receivers, server);
    const arrivals = watchArrivals(receivers);
    let n = 0;
    const run = async (as: Behaviour, isFirst: boolean): Promise<FirstByteTimes> => {
      reportProgress(
        `delivery: ${SAMPLES} notifications, one at a time, ${isFirst ? "cold" : "warm"}`,
      );
      receivers.behave(0, as);
      const timings: Timing[] = [];
      for (let i = 0; i < WARM_UP + SAMPLES; i++) {
        const timing = await timeOne(server, token, n++, arrivals);
        if (i >= WARM_UP && timing.isFirst === isFirst) timings.push(timing);
      }
      return {
        samples: timings.length,
        fromCommitMs: spreadOf(timings.map(({ fromCommitMs }) => fromCommitMs)),
        fromSendingMs: spreadOf(timings.map(({ fromSendingMs }) => fromSendingMs)),
      };
    };
    return { warm: await run("acknowledge", false), cold: await run("close", true) };
  } finally {
    await server.stop();
    await receivers.stop();
    removeFolder(folder);
  }
}

interface Timing {
  readonly isFirst: boolean;
  readonly fromCommitMs: number;
  readonly fromSendingMs: number;
}

async function timeOne(
  { connections: [connection], reviewerToken }: Server,
  token: string,
  n: number,
  arrivals: Arrivals,
): Promise<Timing> {
  if (connection === undefined) throw new Error("no connection to the server");
  const created = await connection.exchange(createMessage(token, n));
  expectAnswer(created, 201, "pending");
  const id = idOf(created.body);
  await sleep(REST_MS);
  const message = approveMessage(reviewerToken, id, n);
  const sentAtMs = monotonicMs();
  const answer = await connection.exchange(message);
  const answeredAtMs = monotonicMs();
  expectAnswer(answer, 200, "approved");
  const { firstByteAtMs, isFirst } = await arrivals.of(id);
  await sleep(REST_MS);
  const fromCommitMs = Math.max(0, firstByteAtMs - answeredAtMs);
  return { isFirst, fromCommitMs, fromSendingMs: firstByteAtMs - sentAtMs };
}
