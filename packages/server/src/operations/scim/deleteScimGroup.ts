import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { assertScimToken } from "../../steps/scim/assertScimToken.ts";
import { writeMembers } from "../../steps/scim/writeMembers.ts";
import {
  deleteScimGroupRow,
  listMembersOf,
  lockScimGroup,
} from "../../storage/sql/scim/scim-groups.ts";

/**
 * Deletes a group. Its members lose the roles that it gives.
 *
 * @throws Problem `not_found`
 */
export async function deleteScimGroup(
  context: Pick<Context, "store" | "random" | "settings" | "onLastAdminLost">,
  caller: ScimCaller,
  id: string,
): Promise<void> {
  await context.store.transact(async (tx) => {
    await assertScimToken(tx, caller);
    const group = await lockScimGroup(tx, id);
    if (group === undefined) throw new Problem("not_found");
    const removed = await listMembersOf(tx, id);
    await writeMembers(tx, context, caller, id, { added: [], removed });
    await deleteScimGroupRow(tx, id);
    await appendAudit(tx, context.random, {
      at: await tx.now(),
      projectId: "",
      kind: "group.deleted",
      actor: `scim:${caller.tokenId}`,
      subject: `group:${id}`,
      detail: { name: group.displayName },
    });
  });
}
