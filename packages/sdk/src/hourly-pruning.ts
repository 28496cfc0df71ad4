/**
 * Deletes old records of a store in the background, at most once an hour per process.
 */

import { RETENTION_MS_MIN } from "@countersign/protocol";
import { systemTiming, type Timing } from "./clock.ts";
import { causeOf } from "./network-error.ts";

/**
 * How long a store keeps its records, ms: the retention of requests, and one day. Without its
 * record, a call could start again if the provider still returned a valid approval for its key.
 *
 * @see contract: Limits
 */
export const STORE_RETENTION_MS = RETENTION_MS_MIN + 24 * 3_600_000;

export const PRUNE_INTERVAL_MS = 3_600_000;

/** Options of every store that deletes its old records. */
export interface PruningOptions {
  /**
   * Receives an error of the deletion of old records. The store tries again after an hour.
   * Default: the console.
   */
  readonly onPruneError?: ((error: unknown) => unknown) | undefined;
  /** Clocks and timers. Default: those of the runtime. */
  readonly timing?: Timing | undefined;
}

/** The names of the options. */
export const PRUNING_OPTIONS = ["onPruneError", "timing"] as const;

export class HourlyPruning {
  readonly #prune: () => Promise<void>;
  readonly #options: PruningOptions;
  readonly #timing: Timing;
  #startedAt: number | undefined;

  constructor(prune: () => Promise<void>, options: PruningOptions) {
    this.#prune = prune;
    this.#options = options;
    this.#timing = options.timing ?? systemTiming;
  }

  /** Returns before the deletion starts. @throws never */
  start(): void {
    const now = this.#timing.monotonic();
    if (this.#startedAt !== undefined && now - this.#startedAt < PRUNE_INTERVAL_MS) return;
    this.#startedAt = now;
    this.#run().catch((error: unknown) => this.#report(error));
  }

  async #run(): Promise<void> {
    // A driver can be synchronous, so let the caller of the store continue first.
    await this.#timing.sleep(0);
    await this.#prune();
  }

  #report(error: unknown): void {
    const { onPruneError = logError } = this.#options;
    try {
      // A failing error handler must not cause another failure, also an asynchronous one.
      Promise.resolve(onPruneError(error)).catch(() => {});
    } catch {}
  }
}

function logError(error: unknown): void {
  // The message of a driver may contain data of the connection.
  console.error(`Countersign: the store could not delete old records (${causeOf(error)}).`);
}
