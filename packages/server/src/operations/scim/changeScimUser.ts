import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import {
  type ProvisionedUser,
  toProvisionedUser,
  type UserView,
  writableUser,
} from "../../core/scim-person.ts";
import { ScimRefusal } from "../../core/scim-refusal.ts";
import { assertComplete, type ScimObject } from "../../core/scim-resource.ts";
import { USER_SCHEMA } from "../../core/scim-schema.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { assertScimToken } from "../../steps/scim/assertScimToken.ts";
import { disableScimPerson } from "../../steps/scim/disableScimPerson.ts";
import { enableScimPerson } from "../../steps/scim/enableScimPerson.ts";
import { lockScimPersons } from "../../steps/scim/lockScimPersons.ts";
import { settleScimPerson } from "../../steps/scim/settleScimPerson.ts";
import { toUserView } from "../../steps/scim/toUserView.ts";
import type { StoredPerson } from "../../storage/sql/people/people.ts";
import {
  readScimUser,
  readScimUserByName,
  type StoredScimUser,
  updateScimUser,
} from "../../storage/sql/scim/scim-users.ts";
import {
  readPersonIdByExternalId,
  renamePerson,
  updateExternalId,
} from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Changes a user: PUT and PATCH. With `active: false`, the user loses all power with the commit.
 * The login of the account stays.
 *
 * @param change from the writable attributes to the new ones
 * @throws Problem `not_found`; ScimRefusal
 */
export async function changeScimUser(
  context: Pick<Context, "store" | "random" | "settings" | "onLastAdminLost">,
  caller: ScimCaller,
  id: string,
  change: (current: ScimObject) => ScimObject,
): Promise<UserView> {
  return context.store.transact(async (tx) => {
    await assertScimToken(tx, caller);
    const persons = await lockScimPersons(tx, context.settings.mapping, [id]);
    const person = persons.get(id);
    const before = person && (await readScimUser(tx, id));
    if (person === undefined || before === undefined) throw new Problem("not_found");
    const resource = change(writableUser(await toUserView(tx, before)));
    assertComplete(USER_SCHEMA, resource);
    const user = toProvisionedUser(resource);
    await writeUserChange(tx, context, caller, before, user);
    await writeActive(tx, context, caller, person, user);
    const stored = await readScimUser(tx, id);
    if (stored === undefined) throw new Error("a user was not stored");
    return toUserView(tx, stored);
  });
}

async function writeUserChange(
  tx: Transaction,
  context: Pick<Context, "random">,
  { tokenId }: ScimCaller,
  before: StoredScimUser,
  user: ProvisionedUser,
): Promise<void> {
  const { personId: id } = before;
  const { userName, login, externalId, name } = user;
  const named = await readScimUserByName(tx, login);
  if (named !== undefined && named.personId !== id) {
    throw new ScimRefusal("uniqueness", `A user with the userName ${userName} exists.`);
  }
  const owner = externalId === null ? undefined : await readPersonIdByExternalId(tx, externalId);
  if (owner !== undefined && owner !== id) {
    throw new ScimRefusal("uniqueness", `An account with the externalId ${externalId} exists.`);
  }
  const attributes = JSON.stringify(user.attributes);
  const isSame =
    userName === before.userName &&
    externalId === before.externalId &&
    name === before.name &&
    attributes === before.attributes;
  if (isSame) return;
  const at = await tx.now();
  await updateScimUser(tx, id, { userName, userNameKey: login, attributes, at });
  await updateExternalId(tx, id, externalId);
  await renamePerson(tx, id, name);
  await appendAudit(tx, context.random, {
    at,
    projectId: "",
    kind: "person.updated",
    actor: `scim:${tokenId}`,
    subject: `person:${id}`,
    detail: { name, user_name: userName, external_id: externalId },
  });
}

async function writeActive(
  tx: Transaction,
  context: Pick<Context, "random" | "settings" | "onLastAdminLost">,
  caller: ScimCaller,
  person: StoredPerson,
  { isActive }: ProvisionedUser,
): Promise<void> {
  if (!isActive) return disableScimPerson(tx, context, caller, person);
  await enableScimPerson(tx, context, caller, person);
  // Also of an unchanged user: the operator may have changed the mapping of groups.
  await settleScimPerson(tx, context, caller, { ...person, disabledAt: null });
}
