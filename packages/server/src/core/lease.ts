/** Leases of the outbox: how long a claim excludes other processes. */

export interface Lease {
  /** Longer than an attempt and its record. After a crash, the next attempt starts at its end. */
  readonly ms: number;
  /** Time at the end of the lease in which nothing is sent. */
  readonly marginMs: number;
}

/** Lease of one notification. */
export const DELIVERY_LEASE: Lease = { ms: 30_000, marginMs: 3_000 };

/** Lease of a notification channel or a browser. */
export const MESSAGE_LEASE: Lease = { ms: 12_000, marginMs: 2_000 };

/**
 * Call it before the claim, because a slow claim shortens the remaining lease.
 *
 * @returns `Clock.monotonic` by which an attempt under the lease must end
 */
export function attemptDeadline(clock: { monotonic(): number }, { ms, marginMs }: Lease): number {
  return clock.monotonic() + ms - marginMs;
}
