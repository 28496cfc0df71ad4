import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { AnsweredInstance } from "../../core/instance.ts";
import type { ProvisionerCaller } from "../../identity/caller.ts";
import { readActiveInstance } from "../../storage/sql/instances/instances.ts";

/**
 * Reads an instance for the provisioner that created it.
 *
 * @throws Problem `not_found`, also for deleted and other projects' instances
 * @see contract: Endpoints, GET /v1/instances/{id}
 */
export async function getInstance(
  context: Context,
  caller: ProvisionerCaller,
  id: string,
): Promise<AnsweredInstance> {
  const instance = await readActiveInstance(context.store, {
    projectId: caller.projectId,
    instanceId: id,
  });
  if (instance === undefined) throw new Problem("not_found");
  return instance;
}
