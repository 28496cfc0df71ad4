import type { Context } from "../../context.ts";
import { ScimRefusal } from "../../core/scim-refusal.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { deleteScimMember, insertScimMember } from "../../storage/sql/scim/scim-groups.ts";
import { isProvisioned } from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";
import { lockScimPersons } from "./lockScimPersons.ts";
import { settleScimPerson } from "./settleScimPerson.ts";

/** Ids of users. */
export interface MemberChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Members who stay, but with other roles or groups than before. */
  readonly changed?: readonly string[];
}

/**
 * Writes the members of a locked group, and sets the roles and groups of the users who change.
 *
 * @throws ScimRefusal `invalidValue` for an unknown user; Problem as settleReviewers
 */
export async function writeMembers(
  tx: Transaction,
  context: Pick<Context, "random" | "settings" | "onLastAdminLost">,
  caller: ScimCaller,
  groupId: string,
  { added, removed, changed = [] }: MemberChange,
): Promise<void> {
  const all = [...removed, ...added, ...changed];
  const persons = await lockScimPersons(tx, context.settings.mapping, all);
  for (const id of added) {
    if (persons.has(id) && (await isProvisioned(tx, id))) {
      await insertScimMember(tx, groupId, id);
      continue;
    }
    throw new ScimRefusal("invalidValue", `No user has the id ${id}. Create the user first.`);
  }
  for (const id of removed) await deleteScimMember(tx, groupId, id);
  for (const person of persons.values()) {
    await settleScimPerson(tx, context, caller, person);
  }
}
