import type { Context } from "../../context.ts";
import { mapGroups } from "../../core/claims.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import type { StoredPerson } from "../../storage/sql/people/people.ts";
import { listScimGroupsOf, type StoredScimGroup } from "../../storage/sql/scim/scim-groups.ts";
import type { Transaction } from "../../storage/store.ts";
import { settleReviewers } from "../sign-in/settleReviewers.ts";

/**
 * Sets roles and groups of a user from the groups that the provider sent. The row of the user is
 * locked.
 *
 * @throws Problem as settleReviewers
 */
export async function settleScimPerson(
  tx: Transaction,
  context: Pick<Context, "random" | "settings" | "onLastAdminLost">,
  { tokenId }: ScimCaller,
  person: StoredPerson,
): Promise<void> {
  const groups = await listScimGroupsOf(tx, person.id);
  const claimed = mapGroups(new Set(groups.map(mappedValue)), context.settings.mapping);
  await settleReviewers(
    {
      tx,
      context,
      claimed,
      now: await tx.now(),
      actor: `scim:${tokenId}`,
      isDisabled: person.disabledAt !== null,
    },
    person,
  );
}

/**
 * The value of a group in the settings. Microsoft Entra ID sends the object id as external id, and
 * the same value in id tokens. Users cannot change it.
 */
function mappedValue({ externalId, displayName }: StoredScimGroup): string {
  return externalId ?? displayName;
}
