/**
 * The clock that decides whether an approval has expired, and its difference from the provider's.
 */

import type { ApprovalProvider } from "./approval-client.ts";
import { ForwardClock, type Timing } from "./clock.ts";

/** Smaller differences are not reported: `Date` headers have whole seconds. */
const DIFFERENCE_MS_MIN = 2_000;

export class ExpiryClock {
  readonly #provider: ApprovalProvider;
  readonly #timing: Timing;
  readonly #forward: ForwardClock;

  constructor(provider: ApprovalProvider, timing: Timing) {
    this.#provider = provider;
    this.#timing = timing;
    this.#forward = new ForwardClock(timing);
  }

  /** The later of this process's clock and the provider's clock, epoch ms. */
  now(): number {
    return Math.max(this.#forward.now(), this.#provider.providerNow?.() ?? 0);
  }

  /**
   * By how much the provider's clock is ahead of this process's clock, ms. 0 if the provider's time
   * is unknown or differs by less than the accuracy of its dates.
   */
  leadMs(): number {
    const here = this.#timing.now();
    const leadMs = (this.#provider.providerNow?.() ?? here) - here;
    return Math.abs(leadMs) < DIFFERENCE_MS_MIN ? 0 : leadMs;
  }

  /** @returns a sentence; undefined when the clocks agree, or the provider's time is unknown */
  difference(): string | undefined {
    const providerNow = this.#provider.providerNow?.();
    if (providerNow === undefined) return undefined;
    const differenceMs = Math.abs(this.#forward.now() - providerNow);
    if (differenceMs < DIFFERENCE_MS_MIN) return undefined;
    const seconds = Math.round(differenceMs / 1_000);
    return (
      `The clocks of this process and of the provider differ by ${seconds} s. ` +
      "Correct the clock and restart the process."
    );
  }
}
