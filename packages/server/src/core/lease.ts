/**
 * Leases of the outbox: how long a claim keeps other processes away.
 */

export interface Lease {
  /** Longer than an attempt and its record. After a crash the next attempt waits for it. */
  readonly ms: number;
  /** At the end of the lease, in which nothing is sent any more. */
  readonly marginMs: number;
}

/** Of one notification. */
export const DELIVERY_LEASE: Lease = { ms: 30_000, marginMs: 3_000 };

/** Of a notification channel or a browser. */
export const MESSAGE_LEASE: Lease = { ms: 12_000, marginMs: 2_000 };

/**
 * To be called before the claim, so that a slow claim does not shorten the lease unseen.
 *
 * @returns `Clock.monotonic` when an attempt under the lease must be over
 */
export function attemptDeadline(clock: { monotonic(): number }, { ms, marginMs }: Lease): number {
  return clock.monotonic() + ms - marginMs;
}
