/**
 * Spares a destination that fails time after time: attempts are postponed, never dropped, and
 * one at a time finds out whether it is back. Kept in memory by every replica for itself; a
 * restart forgets it and costs a few attempts.
 *
 * @see contract: Limits, Other rules, 1
 */

export interface BreakerRules {
  /** Consecutive failures. */
  readonly failuresToOpen: number;
  /** The first pause; it doubles with every probe that fails. */
  readonly pauseMsMin: number;
  readonly pauseMsMax: number;
  /** The last step of 1, 2, 4, 8 ... after a success; beyond it there is no bound. */
  readonly rampMax: number;
  /** Bounds memory: beyond it the key that has been without a result longest starts afresh. */
  readonly keysMax: number;
}

const RULES: BreakerRules = {
  failuresToOpen: 5,
  pauseMsMin: 5_000,
  pauseMsMax: 60_000,
  rampMax: 8,
  keysMax: 10_000,
};

/** What is remembered of a destination that failed; a healthy one needs no entry. */
interface Entry {
  /** Consecutive. */
  failures: number;
  /** The pause that was taken last, 0 when none was since the last success. */
  pauseMs: number;
  pausedUntil: number;
  /** Infinity, unless it recovers from a pause. */
  ramp: number;
}

export class Breaker {
  readonly #rules: BreakerRules;
  /** In the order of their last results. */
  readonly #entries = new Map<string, Entry>();

  constructor(rules: Partial<BreakerRules> = {}) {
    this.#rules = { ...RULES, ...rules };
  }

  /** How many destinations are remembered. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * How many attempts may be outstanding at this destination at `now`: Infinity while all is
   * well, 0 during a pause, 1 when a probe is due, 1, 2, 4, 8 ... after it succeeded.
   */
  room(key: string, now: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined) return Number.POSITIVE_INFINITY;
    if (!this.#isOpen(entry)) return entry.ramp;
    return this.#pausedUntil(entry, now) > now ? 0 : 1;
  }

  /** @returns epoch ms at which there is room again, undefined when there is some now */
  opensAt(key: string, now: number): number | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || !this.#isOpen(entry)) return undefined;
    const pausedUntil = this.#pausedUntil(entry, now);
    return pausedUntil > now ? pausedUntil : undefined;
  }

  /** Any success ends the pause, also of an attempt that began before it. */
  succeeded(key: string, _now: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const ramp = this.#isOpen(entry) ? 1 : entry.ramp * 2;
    if (ramp > this.#rules.rampMax) this.#entries.delete(key);
    else this.#keep(key, { failures: 0, pauseMs: 0, pausedUntil: 0, ramp });
  }

  failed(key: string, now: number): void {
    const entry = this.#entries.get(key) ?? fresh();
    // It was under way when the pause began, and says nothing that is not known.
    if (this.#isOpen(entry) && this.#pausedUntil(entry, now) > now) return;
    entry.failures++;
    if (entry.ramp !== Number.POSITIVE_INFINITY) entry.ramp = 1;
    if (this.#isOpen(entry)) {
      const { pauseMsMin, pauseMsMax } = this.#rules;
      entry.pauseMs = Math.min(Math.max(pauseMsMin, entry.pauseMs * 2), pauseMsMax);
      entry.pausedUntil = now + entry.pauseMs;
    }
    this.#keep(key, entry);
  }

  /** An operator asks for a try now: the pause ends, the count stays. */
  retryNow(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.pausedUntil = Number.NEGATIVE_INFINITY;
  }

  #isOpen({ failures }: Entry): boolean {
    return failures >= this.#rules.failuresToOpen;
  }

  /** A clock that was set back does not make a pause longer than it was to be. */
  #pausedUntil(entry: Entry, now: number): number {
    entry.pausedUntil = Math.min(entry.pausedUntil, now + entry.pauseMs);
    return entry.pausedUntil;
  }

  #keep(key: string, entry: Entry): void {
    this.#entries.delete(key);
    const [oldest] = this.#entries.size < this.#rules.keysMax ? [] : this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(key, entry);
  }
}

function fresh(): Entry {
  return { failures: 0, pauseMs: 0, pausedUntil: 0, ramp: Number.POSITIVE_INFINITY };
}
