/**
 * Whether an approval still permits a start. Three bounds hold at the same time, and the first
 * that is reached ends it: the wall clock, which cannot be turned back here; the length of the
 * approval, counted from its answer by a monotonic clock, so that a clock which is slow by
 * an hour does not lengthen five minutes to sixty-five; and before both a margin.
 *
 * @see contract: What the service does, 4; Resources, Decision
 */

import type { Decision } from "./answer.ts";
import type { ForwardClock, Timing } from "./clock.ts";

/** Between the last look at the clock and the start of the tool, and between two clocks. */
export const MARGIN_MS = 500;

/**
 * @param decision that has just been answered, and is approved
 * @returns asks the clocks
 */
export function validityOf(
  decision: Decision,
  clock: ForwardClock,
  timing: Timing,
  marginMs: number,
): () => boolean {
  const { decidedAt, expiresAt } = decision;
  // Without an end there is no approval; reading has refused it already.
  if (expiresAt === undefined) return () => false;
  const answeredAt = timing.monotonic();
  return () => {
    const passedMs = timing.monotonic() - answeredAt;
    return clock.now() + marginMs < expiresAt && passedMs + marginMs < expiresAt - decidedAt;
  };
}
