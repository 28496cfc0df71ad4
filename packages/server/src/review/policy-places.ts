/** What the exchanges about a project's policy and about the floor have in common. */

import type { ReviewerCaller } from "../identity/caller.ts";
import { assertMayPublish, type PolicyScope, projectOf } from "../operations/assertMayPublish.ts";
import type { PublishOutcome } from "../operations/putInForce.ts";

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
 * Whose line an examination waits in.
 *
 * @throws Problem `forbidden`: who may not publish keeps nobody waiting
 */
export function placeFor(caller: ReviewerCaller, scope: PolicyScope): string {
  assertMayPublish(caller, scope);
  return projectOf(caller, scope);
}
