/**
 * How often somebody may have a test message sent: it goes where they say, in the name of this
 * server. Kept in memory by every replica for itself.
 *
 * Called by: the routes of channels and of push.
 */

import { Problem } from "@countersign/protocol";
import type { Clock } from "../../clock.ts";
import { RateLimiter } from "../../rate-limiter.ts";

/** Ten at once, then one in six seconds. */
const TESTS = { perSecond: 1 / 6, burst: 10 };

export class TestLimit {
  readonly #limiter: RateLimiter;

  constructor(clock: Pick<Clock, "now">) {
    this.#limiter = new RateLimiter(TESTS.perSecond, clock, TESTS.burst);
  }

  /**
   * Counts a test that is about to be sent.
   *
   * @param owner a project or a person
   * @throws Problem `rate_limited`
   */
  take(owner: string): void {
    const retryAfterS = this.#limiter.take(owner);
    if (retryAfterS === 0) return;
    const message = "Too many tests were sent; wait before the next one.";
    throw new Problem("rate_limited", message, { retryAfterS });
  }
}
