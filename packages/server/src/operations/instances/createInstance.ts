/** Creates instances without a receiver, for an admin of the project or an operator. */

import { uuidV7 } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { assertGroups, toGroups } from "../../core/groups.ts";
import { defaultInstanceName } from "../../core/instance.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { createToken } from "../../secrets/token.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { issueCredential } from "../../steps/instances/issueCredential.ts";
import { ownerIdOf } from "../../steps/instances/ownerIdOf.ts";
import { ensureProvisionerAs } from "../../steps/tokens/ensureProvisionerAs.ts";
import { newProjectId } from "../../steps/tokens/newProjectId.ts";
import { ensureProject, lockProject } from "../../storage/sql/access/holders.ts";
import { assignInstance, insertInstance } from "../../storage/sql/instances/instances.ts";
import type { Transaction } from "../../storage/store.ts";

export interface InstanceOrder {
  /** Generated when undefined. */
  readonly name: string | undefined;
  readonly groups: readonly string[];
  /** Name of a reviewer of the project; null without an owner. */
  readonly owner: string | null;
}

export interface CreatedInstance {
  readonly id: string;
  /** The credential, which is displayed once. */
  readonly token: string;
}

/**
 * Creates an instance without a receiver, for an admin of the project.
 *
 * @throws Problem `forbidden`; `invalid_request` naming the field
 */
export async function createInstance(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  order: InstanceOrder,
): Promise<CreatedInstance> {
  assertMay(caller, "people");
  assertGroups(order.groups);
  const { projectId, reviewerId } = caller;
  return store.transact(async (tx) => {
    await lockProject(tx, projectId);
    assertMay(await currentCaller(tx, caller), "people");
    const now = await tx.now();
    if (caller.session !== null) assertFresh(caller.session, now, "create the instance");
    const by = { projectId, actor: `reviewer:${reviewerId}`, provisioner: "console" } as const;
    return insert(tx, random, by, order);
  });
}

/**
 * The same for operators on the server, who need no account.
 *
 * @param project its name; created if new
 * @throws Problem `invalid_request` naming the field
 */
export async function createInstanceAsOperator(
  { store, random }: Pick<Context, "store" | "random">,
  project: string,
  order: InstanceOrder,
): Promise<CreatedInstance> {
  assertGroups(order.groups);
  return store.transact(async (tx) => {
    const projectId = await ensureProject(tx, project, newProjectId(random), await tx.now());
    await lockProject(tx, projectId);
    const by = { projectId, actor: "operator:cli", provisioner: "cli" } as const;
    return insert(tx, random, by, order);
  });
}

interface Creator {
  readonly projectId: string;
  readonly actor: Actor;
  /** Every instance has a provisioner. This is the name of one without a token. */
  readonly provisioner: string;
}

async function insert(
  tx: Transaction,
  random: Context["random"],
  by: Creator,
  { name, groups, owner }: InstanceOrder,
): Promise<CreatedInstance> {
  const { projectId, actor, provisioner } = by;
  const token = createToken("instance", random);
  const createdAt = await tx.now();
  const assignment = {
    groups: toGroups(groups),
    ownerId: await ownerIdOf(tx, projectId, owner),
  };
  const instance = {
    id: uuidV7(createdAt, random.bytes(10)),
    projectId,
    createdAt,
    provisionerId: await ensureProvisionerAs(tx, random, { projectId, name: provisioner }, actor),
    name: JSON.stringify(name ?? defaultInstanceName(random.bytes(8))),
  };
  await insertInstance(tx, instance);
  await assignInstance(tx, { projectId, instanceId: instance.id }, assignment);
  const credential = { instanceId: instance.id, projectId, createdAt, expiresAt: null };
  await issueCredential(tx, { random }, credential, token, {
    kind: "instance.provisioned",
    actor,
    detail: { groups: assignment.groups, owner_id: assignment.ownerId },
  });
  return { id: instance.id, token };
}
