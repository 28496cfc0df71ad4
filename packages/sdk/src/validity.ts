/**
 * Checks whether an approval still permits a start. Two limits apply, each less a safety margin,
 * and the first one reached expires the approval. The first limit is `expiresAt` by a wall clock
 * that never moves backward, or by the provider's clock if that is ahead: a slow clock must not
 * revive an approval that expired an hour ago. The second is the duration of the approval, measured
 * from its answer by a monotonic clock.
 *
 * @see contract: What the service does, 4; Resources, Decision
 */

import type { Decision } from "./answer.ts";
import type { Timing } from "./clock.ts";

/** Covers the time from the clock check to the tool's start, and small clock differences. */
export const MARGIN_MS = 500;

/** The clocks of {@link validityOf}. */
export interface ValidityClocks {
  /** Wall clock that never moves backward, or the provider's clock if it is ahead, epoch ms. */
  readonly now: () => number;
  readonly timing: Timing;
  /** Safety margin, ms. */
  readonly marginMs: number;
}

/**
 * @param decision an approval that the provider has just returned
 * @returns a function that checks the clocks
 */
export function validityOf(
  decision: Decision,
  { now, timing, marginMs }: ValidityClocks,
): () => boolean {
  const { decidedAt, expiresAt } = decision;
  // The reader rejects an approval without an expiry, so this is a second check.
  if (expiresAt === undefined) return () => false;
  const answeredAt = timing.monotonic();
  return () => {
    const passedMs = timing.monotonic() - answeredAt;
    return now() + marginMs < expiresAt && passedMs + marginMs < expiresAt - decidedAt;
  };
}
