import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { compareMembers } from "../../core/scim-members.ts";
import {
  externalIdOf,
  type GroupView,
  memberIdsOf,
  writableGroup,
} from "../../core/scim-person.ts";
import { assertComplete, type ScimObject } from "../../core/scim-resource.ts";
import { GROUP_SCHEMA } from "../../core/scim-schema.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { assertScimToken } from "../../steps/scim/assertScimToken.ts";
import { toGroupView } from "../../steps/scim/toGroupView.ts";
import { writeMembers } from "../../steps/scim/writeMembers.ts";
import { lockScimGroup, updateScimGroup } from "../../storage/sql/scim/scim-groups.ts";

/**
 * Changes a group: PUT and PATCH. The roles of its members change with the commit.
 *
 * @param change from the writable attributes to the new ones
 * @throws Problem `not_found`; ScimRefusal
 */
export async function changeScimGroup(
  context: Pick<Context, "store" | "random" | "settings" | "onLastAdminLost">,
  caller: ScimCaller,
  id: string,
  change: (current: ScimObject) => ScimObject,
): Promise<GroupView> {
  return context.store.transact(async (tx) => {
    await assertScimToken(tx, caller);
    const stored = await lockScimGroup(tx, id);
    if (stored === undefined) throw new Problem("not_found");
    const before = await toGroupView(tx, stored);
    const resource = change(writableGroup(before));
    assertComplete(GROUP_SCHEMA, resource);
    const displayName = String(resource.displayName);
    const externalId = externalIdOf(resource);
    const members = memberIdsOf(resource);
    const old = before.members;
    const isRenamed = displayName !== stored.displayName || externalId !== stored.externalId;
    if (!isRenamed && members.join() === old.join()) return before;
    const { added, removed, kept } = compareMembers(old, members);
    const now = await tx.now();
    const group = { ...stored, displayName, externalId, changedAt: now };
    await updateScimGroup(tx, group);
    await appendAudit(tx, context.random, {
      at: now,
      projectId: "",
      kind: "group.updated",
      actor: `scim:${caller.tokenId}`,
      subject: `group:${id}`,
      detail: { name: displayName, external_id: externalId, added, removed },
    });
    // A new name can give other roles.
    const changed = isRenamed ? kept : [];
    await writeMembers(tx, context, caller, id, { added, removed, changed });
    return toGroupView(tx, group);
  });
}
