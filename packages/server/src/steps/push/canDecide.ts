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
