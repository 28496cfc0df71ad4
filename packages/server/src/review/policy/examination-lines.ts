/** The queues in which checks and publications of policies wait. */

import { may } from "../../core/scopes.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  assertMayCheck,
  assertMayPublish,
  type PolicyScope,
  powerFor,
  projectOf,
} from "../../identity/policy-authority.ts";
import { ExaminationLine } from "./examination-line.ts";

/**
 * The queues of examinations. Reviewers who may not publish have a queue of their own. It examines
 * one policy at a time, so a publisher waits for at most one of their checks.
 */
export class ExaminationLines {
  readonly #publishers = new ExaminationLine();
  readonly #readers = new ExaminationLine();

  /** @throws Problem `forbidden` when the caller may not publish, `rate_limited` */
  runPublication<T>(
    caller: ReviewerCaller,
    scope: PolicyScope,
    work: () => Promise<T>,
  ): Promise<T> {
    assertMayPublish(caller, scope);
    return this.#publishers.run(projectOf(caller, scope), work);
  }

  /** @throws Problem `forbidden` when the caller may not check, `rate_limited` */
  runCheck<T>(caller: ReviewerCaller, scope: PolicyScope, work: () => Promise<T>): Promise<T> {
    assertMayCheck(caller, scope);
    const line = may(caller, powerFor(scope)) ? this.#publishers : this.#readers;
    return line.run(projectOf(caller, scope), work);
  }
}
