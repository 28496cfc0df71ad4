import { assertMay } from "../identity/assert-may.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { SERVER } from "../storage/sql/policy-versions.ts";

/** A project's own policy, or the floor of the whole server. */
export type PolicyScope = "project" | "floor";

/** @throws Problem `forbidden` */
export function assertMayPublish(caller: ReviewerCaller, scope: PolicyScope): void {
  assertMay(caller, scope === "floor" ? "server" : "publish");
}

/** Under which project the versions of the caller's policy, or of the floor, are kept. */
export function projectOf({ projectId }: ReviewerCaller, scope: PolicyScope): string {
  return scope === "floor" ? SERVER : projectId;
}
