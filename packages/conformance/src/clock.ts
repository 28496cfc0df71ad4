/** The time of this machine, and pauses that can be aborted. */

import { setTimeout as sleep } from "node:timers/promises";

/** Epoch ms of this machine, for what compares with another one's clock, and for reports. */
export function wallClock(): number {
  return Date.now();
}

/** Rejects with the signal's reason when it is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
}
