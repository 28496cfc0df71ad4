/**
 * Postpones attempts at a destination that fails repeatedly, and never drops one. Single probes
 * find out when it recovers. Each replica keeps its state in memory. A restart clears it and costs
 * a few attempts.
 *
 * @see contract: Limits, Other rules, 1
 */

export interface BreakerRules {
  /** Consecutive failures. */
  readonly failuresToOpen: number;
  /** The first pause. It doubles with every failed probe. */
  readonly pauseMsMin: number;
  readonly pauseMsMax: number;
  /** The last step of 1, 2, 4, 8 ... after a success. After it, attempts are unlimited. */
  readonly rampMax: number;
  /** Bounds memory: beyond it, the entry with the oldest result is deleted. */
  readonly keysMax: number;
}

const RULES: BreakerRules = {
  failuresToOpen: 5,
  pauseMsMin: 5_000,
  pauseMsMax: 60_000,
  rampMax: 8,
  keysMax: 10_000,
};

/** State of a destination that failed. A healthy one has no entry. */
interface Entry {
  /** Consecutive failures. */
  failures: number;
  /** The last pause; 0 since the last success. */
  pauseMs: number;
  pausedUntil: number;
  /** Infinity, except while it recovers from a pause. */
  ramp: number;
}

export class Breaker {
  readonly #rules: BreakerRules;
  /** Ordered by their last results. */
  readonly #entries = new Map<string, Entry>();

  constructor(rules: Partial<BreakerRules> = {}) {
    this.#rules = { ...RULES, ...rules };
  }

  /** Number of destinations with state. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Maximum attempts in flight at this destination at `now`: Infinity when healthy, 0 during a
   * pause, 1 when a probe is due, then 1, 2, 4, 8 ... after successes.
   */
  room(key: string, now: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined) return Number.POSITIVE_INFINITY;
    if (!this.#isOpen(entry)) return entry.ramp;
    return this.#pausedUntil(entry, now) > now ? 0 : 1;
  }

  /** @returns epoch ms at which an attempt is permitted; undefined when it is now */
  opensAt(key: string, now: number): number | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || !this.#isOpen(entry)) return undefined;
    const pausedUntil = this.#pausedUntil(entry, now);
    return pausedUntil > now ? pausedUntil : undefined;
  }

  /** Any success ends the pause, including an attempt that started before it. */
  succeeded(key: string, _now: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const ramp = this.#isOpen(entry) ? 1 : entry.ramp * 2;
    if (ramp > this.#rules.rampMax) this.#entries.delete(key);
    else this.#keep(key, { failures: 0, pauseMs: 0, pausedUntil: 0, ramp });
  }

  failed(key: string, now: number): void {
    const entry = this.#entries.get(key) ?? fresh();
    // The attempt started before the pause, so its failure adds no information.
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

  /** Ends the pause for a retry by an operator, but keeps the failure count. */
  retryNow(key: string): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.pausedUntil = Number.NEGATIVE_INFINITY;
  }

  #isOpen({ failures }: Entry): boolean {
    return failures >= this.#rules.failuresToOpen;
  }

  /** If the clock was set back, the pause does not become longer. */
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
