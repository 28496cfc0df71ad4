import type { ManualClock } from "./manual-clock.ts";
import { turns } from "./until.ts";

/** What the work of one step may wait for disks. */
const DISK_MS_MAX = 500;

/**
 * Moves time on in steps until something has come about; the workers get their turns between.
 *
 * @throws when it has not come about after `steps`
 */
export async function advanceUntil(
  clock: ManualClock,
  stepMs: number,
  steps: number,
  hasComeAbout: () => Promise<boolean>,
): Promise<void> {
  for (let step = 0; step < steps; step++) {
    clock.advance(stepMs);
    // What is written waits for the disk meanwhile, which takes no turns but time.
    const end = performance.now() + DISK_MS_MAX;
    do {
      await turns(1);
      if (await hasComeAbout()) return;
    } while (performance.now() < end);
  }
  throw new Error(`it has not come about after ${steps} steps of ${stepMs} ms`);
}
