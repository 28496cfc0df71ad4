/**
 * The queues of policy checks and publications. Each runs one examination at a time and alternates
 * between projects. An examination may take seconds of CPU time, while agents wait for other
 * decisions.
 */

import { Problem } from "@countersign/protocol";
import { isPermitted } from "../../core/scopes.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  assertMayCheck,
  assertMayPublish,
  type PolicyScope,
  projectOf,
  publishPowerFor,
} from "../../identity/policy-authority.ts";
import { KeyedQueue } from "../../keyed-queue.ts";
import { KeyedSemaphore } from "../../keyed-semaphore.ts";

/** Of one project. */
const QUEUED_MAX = 20;

const RETRY_S = 5;

/** Reviewers who may not publish have their own queue: their checks do not delay publishers. */
export class ExaminationQueues {
  readonly #publishers = createQueue();
  readonly #readers = createQueue();

  /** @throws Problem `forbidden` when the caller may not publish, `rate_limited` */
  runPublication<T>(
    caller: ReviewerCaller,
    scope: PolicyScope,
    publish: () => Promise<T>,
  ): Promise<T> {
    assertMayPublish(caller, scope);
    return this.#publishers.run([projectOf(caller, scope)], publish);
  }

  /** @throws Problem `forbidden` when the caller may not check, `rate_limited` */
  runCheck<T>(caller: ReviewerCaller, scope: PolicyScope, check: () => Promise<T>): Promise<T> {
    assertMayCheck(caller, scope);
    const queue = isPermitted(caller, publishPowerFor(scope)) ? this.#publishers : this.#readers;
    return queue.run([projectOf(caller, scope)], check);
  }
}

function createQueue(): KeyedQueue {
  const message = "Too many policies of this project are queued for checks. Try again shortly.";
  return new KeyedQueue([new KeyedSemaphore({ totalMax: 1 })], {
    queuedPerKeyMax: QUEUED_MAX,
    rejection: () => new Problem("rate_limited", message, { retryAfterS: RETRY_S }),
  });
}
