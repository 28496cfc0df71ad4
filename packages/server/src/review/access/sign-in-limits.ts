/**
 * Limits attempts to sign in, by login (existing or not) and by address. Attempts that succeed are
 * refunded, so only failures count. Each process counts for itself.
 */

import type { Clock } from "../../clock.ts";
import { normalizeLogin } from "../../core/login.ts";
import { RateLimiter } from "../../rate-limiter.ts";

/** Ten at once, then one a minute: 1,450 a day for one login. */
const OF_LOGIN = { perSecond: 1 / 60, burst: 10 };

/** Behind a proxy, all users have one address. */
const OF_ADDRESS = { perSecond: 1, burst: 60 };

/** Audit entries about rejected attempts. */
const RECORDED = { perSecond: 1 / 360, burst: 10 };

const REFUSAL = "Too many attempts to sign in. Wait before the next attempt.";

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
   * Charges an attempt before it is made, so that concurrent attempts count.
   *
   * @returns refunds the attempt; called unless the credentials were wrong
   * @throws Problem `rate_limited`
   */
  chargeAttempt(login: string, address: string): () => void {
    const key = keyOf(login);
    this.#addresses.takeOrRefuse(address, REFUSAL);
    this.#logins.takeOrRefuse(key, REFUSAL);
    return () => {
      this.#logins.charge(key, -1);
      this.#addresses.charge(address, -1);
    };
  }

  /** Charges an audit entry about a rejected attempt. @returns whether it may be written */
  mayRecord(login: string): boolean {
    return this.#recorded.take(keyOf(login)) === 0;
  }
}

function keyOf(login: string): string {
  return normalizeLogin(login) ?? "";
}
