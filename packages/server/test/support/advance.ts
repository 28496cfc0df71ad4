import type { ManualClock } from "./manual-clock.ts";
import { turns, until } from "./until.ts";

/**
 * Moves time on in steps until something has come about; the workers come to rest between.
 *
 * @throws when it does not come about once all `steps` are made, however long it is waited
 */
export async function advanceUntil(
  clock: ManualClock,
  stepMs: number,
  steps: number,
  hasComeAbout: () => Promise<boolean>,
): Promise<void> {
  for (let step = 0; step < steps; step++) {
    clock.advance(stepMs);
    await turns();
    if (await hasComeAbout()) return;
  }
  // No more time than that; but what is on its way may need longer on a busy machine.
  await until(hasComeAbout, `anything within ${steps} steps of ${stepMs} ms`);
}
