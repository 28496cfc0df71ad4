import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { assertScimToken } from "../../steps/scim/assertScimToken.ts";
import { disableScimPerson } from "../../steps/scim/disableScimPerson.ts";
import { lockScimPersons } from "../../steps/scim/lockScimPersons.ts";
import { settleReviewers } from "../../steps/sign-in/settleReviewers.ts";
import { deleteScimUserRow, readScimUser } from "../../storage/sql/scim/scim-users.ts";

/**
 * Deletes a user: the account loses all power with the commit, and its roles. The account itself
 * stays, because decisions and the audit log name it, and its login is not used again.
 *
 * @throws Problem `not_found`
 */
export async function deleteScimUser(
  context: Pick<Context, "store" | "random" | "settings" | "onLastAdminLost">,
  caller: ScimCaller,
  id: string,
): Promise<void> {
  await context.store.transact(async (tx) => {
    await assertScimToken(tx, caller);
    const persons = await lockScimPersons(tx, context.settings.mapping, [id]);
    const person = persons.get(id);
    if (person === undefined || (await readScimUser(tx, id)) === undefined) {
      throw new Problem("not_found");
    }
    await disableScimPerson(tx, context, caller, person);
    await deleteScimUserRow(tx, id);
    const claimed = { groups: [], memberships: [] };
    const actor = `scim:${caller.tokenId}` as const;
    const now = await tx.now();
    await settleReviewers({ tx, context, claimed, now, actor, isDisabled: true }, person);
  });
}
