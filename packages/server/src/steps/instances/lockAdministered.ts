import { Problem } from "@countersign/protocol";
import type { StoredInstance } from "../../core/instance.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { lockProject } from "../../storage/sql/access/holders.ts";
import { lockInstance } from "../../storage/sql/instances/instances.ts";
import type { Transaction } from "../../storage/store.ts";
import { currentCaller } from "../access/currentCaller.ts";

/**
 * Locks an instance for a change by an admin of its project.
 *
 * @param freshFor the operation, as the rest of a sentence, if it needs a recent sign-in
 * @throws Problem `forbidden`, `stale_sign_in`; `not_found`, also for a deleted instance
 */
export async function lockAdministered(
  tx: Transaction,
  caller: ReviewerCaller,
  instanceId: string,
  freshFor?: string,
): Promise<StoredInstance> {
  const { projectId, session } = caller;
  await lockProject(tx, projectId);
  assertMay(await currentCaller(tx, caller), "people");
  if (session !== null && freshFor !== undefined) assertFresh(session, await tx.now(), freshFor);
  const instance = await lockInstance(tx, "update", { projectId, instanceId });
  if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
  return instance;
}
