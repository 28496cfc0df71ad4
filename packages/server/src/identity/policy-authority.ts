/** Checks what a reviewer may do with the policy of a project or of the whole server. */

import type { Actor } from "../core/actor.ts";
import type { Power } from "../core/roles.ts";
import { isPermitted } from "../core/scopes.ts";
import { SERVER } from "../storage/sql/keys.ts";
import { assertMay } from "./assert-may.ts";
import type { ReviewerCaller } from "./caller.ts";

/** A project's own policy, or the floor of the whole server. */
export type PolicyScope = "project" | "floor";

/** Who activates a policy, or proposes one. */
export interface PolicyActor {
  readonly actor: Actor;
  /** Of which they are a reviewer, and whose people's names they may see. */
  readonly projectId: string;
}

/** @throws Problem `forbidden` */
export function assertMayPublish(caller: ReviewerCaller, scope: PolicyScope): void {
  assertMay(caller, publishPowerFor(scope));
}

/**
 * A check of a project's policy changes nothing, so every reviewer who may read may check. A check
 * of the floor reveals names of all projects, so it needs the power to publish.
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

/** Who acts on a policy, for its rows and the audit log. */
export function policyActorOf({ reviewerId, projectId }: ReviewerCaller): PolicyActor {
  return { actor: `reviewer:${reviewerId}`, projectId };
}

/** Under which project the versions of the caller's policy, or of the floor, are kept. */
export function projectOf({ projectId }: ReviewerCaller, scope: PolicyScope): string {
  return scope === "floor" ? SERVER : projectId;
}
