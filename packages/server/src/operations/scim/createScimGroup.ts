import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { externalIdOf, type GroupView, memberIdsOf } from "../../core/scim-person.ts";
import type { ScimObject } from "../../core/scim-resource.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { assertScimToken } from "../../steps/scim/assertScimToken.ts";
import { toGroupView } from "../../steps/scim/toGroupView.ts";
import { writeMembers } from "../../steps/scim/writeMembers.ts";
import { insertScimGroup } from "../../storage/sql/scim/scim-groups.ts";

/**
 * Creates a group, and sets the roles of its members.
 *
 * @param resource a complete Group as readResource returns it
 * @throws ScimRefusal `invalidValue` for an unknown member; Problem as settleReviewers
 */
export async function createScimGroup(
  context: Pick<Context, "store" | "random" | "settings" | "onLastAdminLost">,
  caller: ScimCaller,
  resource: ScimObject,
): Promise<GroupView> {
  const { store, random } = context;
  const members = memberIdsOf(resource);
  return store.transact(async (tx) => {
    await assertScimToken(tx, caller);
    const now = await tx.now();
    const group = {
      id: uuidV7(now, random.bytes(10)),
      displayName: String(resource.displayName),
      externalId: externalIdOf(resource),
      createdAt: now,
      changedAt: now,
    };
    await insertScimGroup(tx, group);
    await appendAudit(tx, random, {
      at: now,
      projectId: "",
      kind: "group.created",
      actor: `scim:${caller.tokenId}`,
      subject: `group:${group.id}`,
      detail: { name: group.displayName, external_id: group.externalId, members },
    });
    await writeMembers(tx, context, caller, group.id, { added: members, removed: [] });
    return toGroupView(tx, group);
  });
}
