/**
 * When a delayed verdict is applied. Pure: the caller passes the time.
 */

/** Time between a delayed verdict and the deadline, at least. */
const BEFORE_DEADLINE_MS = 1_000;

/**
 * The deadline limits the delay.
 *
 * @returns epoch ms; undefined when no time is left for a delay
 */
export function commitsAt(now: number, holdMs: number, deadlineAt: number): number | undefined {
  const at = Math.min(now + holdMs, deadlineAt - BEFORE_DEADLINE_MS);
  return at > now ? at : undefined;
}
