/**
 * The queue of history queries that may read many rows. It runs one query of each reviewer at a
 * time, so a reviewer who sends many delays only their own.
 */

import { Problem } from "@countersign/protocol";
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
