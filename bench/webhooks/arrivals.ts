/**
 * Which notifications have come, and waiting for one that has not.
 */

import type { Arrival } from "./messages.ts";
import type { ReceiverGroup } from "./receiver-group.ts";

export interface Arrivals {
  /** The notification of a request, once it has come. */
  of(requestId: string): Promise<Arrival>;
  /** Number of arrivals that were not claimed yet. */
  readonly unclaimed: number;
}

/** Longer than any queue that the benchmark lets a notification wait in. */
const ARRIVAL_MS_MAX = 60_000;

export function watchArrivals(receivers: ReceiverGroup): Arrivals {
  const come = new Map<string, Arrival>();
  const awaited = new Map<string, (arrival: Arrival) => void>();
  receivers.watch((arrival) => {
    const { requestId } = arrival;
    const settle = awaited.get(requestId);
    awaited.delete(requestId);
    if (settle === undefined) come.set(requestId, arrival);
    else settle(arrival);
  });
  return {
    of(requestId) {
      const arrival = come.get(requestId);
      come.delete(requestId);
      if (arrival !== undefined) return Promise.resolve(arrival);
      return new Promise((resolve, reject) => {
        const late = () => reject(new Error(`the notification of ${requestId} does not arrive`));
        const timer = setTimeout(late, ARRIVAL_MS_MAX);
        awaited.set(requestId, (came) => {
          clearTimeout(timer);
          resolve(came);
        });
      });
    },
    get unclaimed() {
      return come.size;
    },
  };
}
