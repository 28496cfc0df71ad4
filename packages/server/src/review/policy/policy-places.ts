/** What the exchanges about a project's policy and about the floor have in common. */

import { may } from "../../core/scopes.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  assertMayCheck,
  assertMayPublish,
  type PolicyScope,
  powerFor,
  projectOf,
} from "../../operations/policy/assertMayPublish.ts";
import type { PublishOutcome } from "../../operations/policy/putInForce.ts";
import { ExaminationLine } from "./examination-line.ts";

export const PLACES: Readonly<Record<PolicyScope, string>> = {
  project: "/review/v1/policy",
  floor: "/review/v1/floor",
};

/** Names in logs and metrics. */
export function operationAbout(scope: PolicyScope, verb: string): string {
  return `${verb}${scope === "floor" ? "Floor" : "Policy"}`;
}

export function statusOf({ outcome }: PublishOutcome): number {
  return outcome === "published" ? 201 : 200;
}

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
