/**
 * How long a verdict is held before it is given. Pure: the time is given.
 *
 * Called by: castVerdict, and what reads the wish.
 */

/** Left before the deadline for the verdict itself. */
const BEFORE_DEADLINE_MS = 1_000;

/**
 * When a verdict is given that is to be held for so long: the deadline wins.
 *
 * @returns epoch ms; undefined when there is no time to hold it
 */
export function commitsAt(now: number, holdMs: number, deadlineAt: number): number | undefined {
  const at = Math.min(now + holdMs, deadlineAt - BEFORE_DEADLINE_MS);
  return at > now ? at : undefined;
}
