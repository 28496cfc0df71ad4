/**
 * The queue of history queries that may read many rows. It runs one query of each reviewer at a
 * time, so a reviewer who sends many delays only their own.
 */

import { Problem } from "@countersign/protocol";
import type { FastifyReply } from "fastify";
import { disconnectSignal } from "../../http/exchange.ts";
import { KeyedQueue } from "../../keyed-queue.ts";
import { KeyedSemaphore } from "../../keyed-semaphore.ts";

/** Of one reviewer: more than the open tabs of a browser. */
const QUEUED_MAX = 20;

const RETRY_S = 1;

export function createHistoryQueue(): KeyedQueue {
  const message = "Too many of your history queries are queued. Try again shortly.";
  return new KeyedQueue([new KeyedSemaphore({ perKeyMax: 1 })], {
    queuedPerKeyMax: QUEUED_MAX,
    rejection: () => new Problem("rate_limited", message, { retryAfterS: RETRY_S }),
  });
}

/** Runs the search when a slot is free, unless the client has disconnected. */
export async function runQueued<T>(
  reply: FastifyReply,
  queue: KeyedQueue,
  reviewerId: string,
  search: (gone: AbortSignal) => Promise<T>,
): Promise<T | FastifyReply> {
  const gone = disconnectSignal(reply);
  try {
    return await queue.run([reviewerId], () => search(gone), gone);
  } catch (error) {
    if (gone.aborted && error === gone.reason) return reply.hijack();
    throw error;
  }
}
