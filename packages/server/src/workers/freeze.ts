/**
 * Denies what is pending under a freeze in force and was not denied by whoever froze: every
 * second, at once again while there is more. Where there is no freeze that is one look at an
 * empty index.
 */

import type { Context } from "../context.ts";
import { enforceFreezes, type FreezeWalks } from "../operations/freezes/enforceFreezes.ts";
import type { Report } from "../report.ts";
import type { Worker } from "./worker.ts";

const SLEEP_MS = 1_000;

/** Between two rounds of a long denial, so that requests are served in between. */
const BREATH_MS = 5;

/** After so long all that is frozen is walked over again, whatever was found before. */
const WALKS_MS = 30_000;

export function startFreeze(context: Context, report: Report): Worker {
  const walks: FreezeWalks = new Map();
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let walkAgainAt = 0;
  let cancel = () => {};

  function sleep(ms: number): void {
    if (stopped) return;
    cancel = context.clock.after(ms, () => {
      running = work();
    });
  }

  async function work(): Promise<void> {
    let pause = SLEEP_MS;
    try {
      const now = context.clock.monotonic();
      if (now >= walkAgainAt) {
        walks.clear();
        walkAgainAt = now + WALKS_MS;
      }
      const { denied, more } = await enforceFreezes(context, walks);
      if (denied > 0) report.requestsFrozen(denied);
      if (more) pause = BREATH_MS;
    } catch (error) {
      report.dependencyFailed("freeze", error);
    }
    sleep(pause);
  }

  sleep(0);

  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
