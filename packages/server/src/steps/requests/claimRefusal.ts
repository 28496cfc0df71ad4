import type { ResolvableRequest } from "../../core/request.ts";
import { approvalRefusal, type Decider, denialRefusal } from "../../policy/decider.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { Transaction } from "../../storage/store.ts";

/** Why a reviewer may neither approve nor deny the request; undefined when the reviewer may. */
export async function claimRefusal(
  tx: Transaction,
  { projectId, instanceId, policy }: ResolvableRequest,
  decider: Decider,
): Promise<string | undefined> {
  const requirement = requirementOf(readJudgement(policy));
  const instance = (await readInstances(tx, projectId, [instanceId])).get(instanceId);
  const ownerId = instance?.ownerId ?? null;
  const refusal = approvalRefusal(requirement, decider, { ownerId, instanceId });
  const mayDeny = denialRefusal(requirement, decider, { ownerId }) === undefined;
  return mayDeny ? undefined : refusal;
}
