/** Waiters for slots, for tests of queues and limits. */

import type { WebhookBounds } from "../../src/config/settings.ts";
import { ManualClock } from "./manual-clock.ts";
import { turns } from "./until.ts";

/** Bounds that no test reaches. */
export const WIDE_BOUNDS: WebhookBounds = {
  inFlightMax: 1_000,
  accountInFlightMax: 1_000,
  hostInFlightMax: 1_000,
  addressInFlightMax: 1_000,
  accountRate: 0,
  hostRate: 0,
  addressRate: 0,
  accountVerificationsPerMinute: 0,
  hostVerificationsPerMinute: 0,
};

/** Counts the pending timers. */
export class CountingClock extends ManualClock {
  timers = 0;

  override after(delayMs: number, callback: () => void): () => void {
    let isOver = false;
    const end = () => {
      if (!isOver) this.timers--;
      isOver = true;
    };
    this.timers++;
    const cancel = super.after(delayMs, () => {
      end();
      callback();
    });
    return () => {
      end();
      cancel();
    };
  }
}

/** One that waits for slots. */
export interface Waiter {
  state: "queued" | "acquired" | "aborted";
  release: () => void;
  readonly abort: () => void;
}

export function waitForSlots(
  acquire: (signal: AbortSignal) => Promise<(() => void) | undefined>,
): Waiter {
  const controller = new AbortController();
  const waiter: Waiter = {
    state: "queued",
    release: () => {},
    abort: () => controller.abort(),
  };
  acquire(controller.signal).then((release) => {
    waiter.state = release === undefined ? "aborted" : "acquired";
    waiter.release = release ?? waiter.release;
  });
  return waiter;
}

export async function states(...waiters: readonly Waiter[]): Promise<string[]> {
  await turns(1);
  return waiters.map(({ state }) => state);
}
