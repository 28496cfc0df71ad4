/**
 * Limits the rate of test messages, because the caller chooses their receiver. Each process counts
 * for itself.
 */

import type { Clock } from "../../clock.ts";
import { RateLimiter } from "../../rate-limiter.ts";

/** Ten at once, then one every six seconds. */
const TESTS = { perSecond: 1 / 6, burst: 10 };

/**
 * @returns charges a test to its owner, a project or a user; throws Problem `rate_limited` when the
 * owner sent too many
 */
export function createTestLimit(clock: Pick<Clock, "now">): (owner: string) => void {
  const limiter = new RateLimiter(TESTS.perSecond, clock, TESTS.burst);
  return (owner) =>
    limiter.takeOrRefuse(owner, "Too many test messages were sent. Wait and retry.");
}
