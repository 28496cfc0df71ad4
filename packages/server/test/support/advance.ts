import type { ManualClock } from "./manual-clock.ts";
import { turns } from "./until.ts";

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
    await turns(1);
    if (await hasComeAbout()) return;
  }
  throw new Error(`it has not come about after ${steps} steps of ${stepMs} ms`);
}
