/**
 * How often somebody may try to sign in. Only failures count in the end, by the login that was
 * tried, whether it is anybody's or not, and by the address that it came from. Kept in memory by
 * every replica for itself.
 */

import { Problem } from "@countersign/protocol";
import type { Clock } from "../../clock.ts";
import { normalizeLogin } from "../../core/login.ts";
import { RateLimiter } from "../../rate-limiter.ts";

/** Ten at once, then one a minute: 1,450 a day for one login. */
const OF_LOGIN = { perSecond: 1 / 60, burst: 10 };

/** Behind a proxy all people come from one address. */
const OF_ADDRESS = { perSecond: 1, burst: 60 };

/** What is written down of refusals. */
const RECORDED = { perSecond: 1 / 360, burst: 10 };

export class SignInLimits {
  readonly #logins: RateLimiter;
  readonly #addresses: RateLimiter;
  readonly #recorded: RateLimiter;

  constructor(clock: Pick<Clock, "now">) {
    this.#logins = new RateLimiter(OF_LOGIN.perSecond, clock, OF_LOGIN.burst);
    this.#addresses = new RateLimiter(OF_ADDRESS.perSecond, clock, OF_ADDRESS.burst);
    this.#recorded = new RateLimiter(RECORDED.perSecond, clock, RECORDED.burst);
  }

  /**
   * Counts an attempt before it is made: many at the same time are not one.
   *
   * @returns to be called when the attempt did not fail for what was given
   * @throws Problem `rate_limited`
   */
  begin(login: string, address: string): () => void {
    const key = keyOf(login);
    const waitS = this.#addresses.take(address) || this.#logins.take(key);
    if (waitS > 0) {
      const message = "Too many attempts to sign in; wait before the next one.";
      throw new Problem("rate_limited", message, { retryAfterS: waitS });
    }
    return () => {
      this.#logins.charge(key, -1);
      this.#addresses.charge(address, -1);
    };
  }

  /** Whether one more refusal of this login is to be written down. */
  mayRecord(login: string): boolean {
    return this.#recorded.take(keyOf(login)) === 0;
  }
}

function keyOf(login: string): string {
  return normalizeLogin(login) ?? "";
}
