/**
 * Checks whether an approval still permits a start. Two limits apply, each less a safety margin,
 * and the first one reached expires the approval. The first limit is `expiresAt` by a wall clock
 * that never moves backward. The second is the duration of the approval, measured from its answer
 * by a monotonic clock: a clock that is one hour slow must not extend five minutes to sixty-five.
 *
 * @see contract: What the service does, 4; Resources, Decision
 */

import type { Decision } from "./answer.ts";
import type { ForwardClock, Timing } from "./clock.ts";

/** Covers the time from the clock check to the tool's start, and small clock differences. */
export const MARGIN_MS = 500;

/**
 * @param decision an approval that the provider has just returned
 * @param marginMs safety margin, ms
 * @returns a function that checks the clocks
 */
export function validityOf(
  decision: Decision,
  clock: ForwardClock,
  timing: Timing,
  marginMs: number,
): () => boolean {
  const { decidedAt, expiresAt } = decision;
  // The reader rejects an approval without an expiry, so this is a second check.
  if (expiresAt === undefined) return () => false;
  const answeredAt = timing.monotonic();
  return () => {
    const passedMs = timing.monotonic() - answeredAt;
    return clock.now() + marginMs < expiresAt && passedMs + marginMs < expiresAt - decidedAt;
  };
}
