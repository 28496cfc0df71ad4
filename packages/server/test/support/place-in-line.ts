/**
 * To watch who waits for a place, for tests of what limits destinations.
 */

import type { WebhookBounds } from "../../src/config/settings.ts";
import { ManualClock } from "./manual-clock.ts";
import { turns } from "./until.ts";

/** Bounds that no test comes near. */
export const WIDE: WebhookBounds = {
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

/** A clock that knows how many wait for it. */
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

/** Somebody in line, and what has become of it. */
export interface Waiting {
  state: "waiting" | "entered" | "gave up";
  leave: () => void;
  readonly giveUp: () => void;
}

/** Gets in line. */
export function wait(begin: (signal: AbortSignal) => Promise<(() => void) | undefined>): Waiting {
  const controller = new AbortController();
  const giveUp = () => controller.abort();
  const waiting: Waiting = { state: "waiting", leave: () => {}, giveUp };
  begin(controller.signal).then((leave) => {
    waiting.state = leave === undefined ? "gave up" : "entered";
    waiting.leave = leave ?? waiting.leave;
  });
  return waiting;
}

/** What has become of them by now. */
export async function states(...waiting: readonly Waiting[]): Promise<string[]> {
  await turns(1);
  return waiting.map(({ state }) => state);
}
