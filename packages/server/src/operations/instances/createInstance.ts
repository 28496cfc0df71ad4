import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
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
import { ensureProvisioner, lockProject } from "../../storage/sql/access/holders.ts";
import { assignInstance, insertInstance } from "../../storage/sql/instances/instances.ts";
import type { Transaction } from "../../storage/store.ts";

export interface InstanceOrder {
  /** Made up when undefined. */
  readonly name: string | undefined;
  readonly groups: readonly string[];
  /** Name of a reviewer of the project; null without an owner. */
  readonly owner: string | null;
}

/** Every instance has a provisioner; this one has no token of its own. */
const PROVISIONER = "console";

/**
 * Creates an instance without a receiver, for an admin of the project.
 *
 * @returns its id, and the credential, which is displayed once
 * @throws Problem `forbidden`; `invalid_request` naming the field
 */
export async function createInstance(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  { name, groups, owner }: InstanceOrder,
): Promise<{ readonly id: string; readonly token: string }> {
  assertMay(caller, "people");
  assertGroups(groups);
  const { projectId, reviewerId } = caller;
  const actor: Actor = `reviewer:${reviewerId}`;
  const token = createToken("instance", random);
  const id = await store.transact(async (tx) => {
    await lockProject(tx, projectId);
    assertMay(await currentCaller(tx, caller), "people");
    const createdAt = await tx.now();
    if (caller.session !== null) assertFresh(caller.session, createdAt, "create the instance");
    const assignment = {
      groups: toGroups(groups),
      ownerId: await ownerIdOf(tx, projectId, owner),
    };
    const instance = {
      id: uuidV7(createdAt, random.bytes(10)),
      projectId,
      createdAt,
      provisionerId: await provisionerOf(tx, random, { projectId, actor }, createdAt),
      name: JSON.stringify(name ?? defaultInstanceName(random.bytes(8))),
    };
    await insertInstance(tx, instance);
    await assignInstance(tx, { projectId, instanceId: instance.id }, assignment);
    await issueCredential(tx, { random }, instance, token, {
      actor,
      detail: { groups: assignment.groups, owner_id: assignment.ownerId },
    });
    return instance.id;
  });
  return { id, token };
}

async function provisionerOf(
  tx: Transaction,
  random: Context["random"],
  { projectId, actor }: { readonly projectId: string; readonly actor: Actor },
  now: number,
): Promise<string> {
  const newId = uuidV7(now, random.bytes(10));
  const id = await ensureProvisioner(tx, projectId, PROVISIONER, newId, now);
  if (id === newId) {
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "provisioner.created",
      actor,
      subject: `provisioner:${id}`,
    });
  }
  return id;
}
