/** The users that a request concerns, by their permissions and preferences. */

import type { Notify } from "@countersign/review-api";
import type { StoredRequest } from "../../core/request.ts";
import { allows } from "../../core/roles.ts";
import { approvalRefusal, denialRefusal } from "../../policy/decider.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import type { PushAudience } from "../../storage/sql/push/push-messages.ts";

export type PossibleDecider = Omit<PushAudience, "personId">;

/** True when a reviewer may approve or deny it, by role, groups and ownership. */
export function canDecide(
  { policy, instanceId }: Pick<StoredRequest, "policy" | "instanceId">,
  { reviewerId: id, name, role, groups }: PossibleDecider,
  ownerId: string | null,
): boolean {
  if (!allows(role, "decide")) return false;
  const requirement = requirementOf(readJudgement(policy));
  const decider = { id, name, groups, isBot: false, forGroups: null };
  return (
    approvalRefusal(requirement, decider, { ownerId, instanceId }) === undefined ||
    denialRefusal(requirement, decider, { ownerId }) === undefined
  );
}

/** True when the user's preference includes a request that the user may decide. */
export function isWanted(
  { policy }: Pick<StoredRequest, "policy">,
  { name, groups }: Pick<PossibleDecider, "name" | "groups">,
  notify: Notify,
): boolean {
  if (notify !== "named") return notify === "all";
  const own = new Set([`reviewer:${name}`, ...groups.map((group) => `group:${group}`)]);
  return requirementOf(readJudgement(policy))
    .from.flat()
    .some((named) => own.has(named));
}
