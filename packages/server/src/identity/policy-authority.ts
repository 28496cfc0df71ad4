/** Checks the permissions of a reviewer for the policy of a project or of the whole server. */

import type { Actor } from "../core/actor.ts";
import type { Power } from "../core/roles.ts";
import { isPermitted } from "../core/scopes.ts";
import { SERVER } from "../storage/sql/keys.ts";
import { assertMay } from "./assert-may.ts";
import type { ReviewerCaller } from "./caller.ts";

/** A project's own policy, or the baseline policy of the server. */
export type PolicyScope = "project" | "floor";

/** The user who activates or proposes a policy. */
export interface PolicyActor {
  readonly actor: Actor;
  /** Project of the reviewer, whose names the reviewer may read. */
  readonly projectId: string;
}

/** @throws Problem `forbidden` */
export function assertMayPublish(caller: ReviewerCaller, scope: PolicyScope): void {
  assertMay(caller, publishPowerFor(scope));
}

/**
 * A check of a project's policy changes nothing, so every reviewer with the power to read may
 * check. A check of the baseline policy reveals names of all projects, so it requires the power to
 * publish.
 *
 * @throws Problem `forbidden`
 */
export function assertMayCheck(caller: ReviewerCaller, scope: PolicyScope): void {
  if (scope === "project" && !isPermitted(caller, "publish")) assertMay(caller, "read");
  else assertMayPublish(caller, scope);
}

export function publishPowerFor(scope: PolicyScope): Power {
  return scope === "floor" ? "server" : "publish";
}

/** The actor of a policy change, for rows and the audit log. */
export function policyActorOf({ reviewerId, projectId }: ReviewerCaller): PolicyActor {
  return { actor: `reviewer:${reviewerId}`, projectId };
}

/** The project id that policy versions are stored with. */
export function projectOf({ projectId }: ReviewerCaller, scope: PolicyScope): string {
  return scope === "floor" ? SERVER : projectId;
}
