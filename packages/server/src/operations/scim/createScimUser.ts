import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { writeSubject } from "../../core/claims.ts";
import { type ProvisionedUser, toProvisionedUser, type UserView } from "../../core/scim-person.ts";
import { ScimRefusal } from "../../core/scim-refusal.ts";
import type { ScimObject } from "../../core/scim-resource.ts";
import type { ScimCaller } from "../../identity/caller.ts";
import { assertScimToken } from "../../steps/scim/assertScimToken.ts";
import { disableScimPerson } from "../../steps/scim/disableScimPerson.ts";
import { enableScimPerson } from "../../steps/scim/enableScimPerson.ts";
import { lockScimPersons } from "../../steps/scim/lockScimPersons.ts";
import { settleScimPerson } from "../../steps/scim/settleScimPerson.ts";
import { toUserView } from "../../steps/scim/toUserView.ts";
import { insertPerson, type StoredPerson } from "../../storage/sql/people/people.ts";
import { insertScimUser, readScimUser } from "../../storage/sql/scim/scim-users.ts";
import {
  isProvisioned,
  readPersonIdByExternalId,
  readPersonIdBySubject,
  renamePerson,
  updateExternalId,
} from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";

interface Creating {
  readonly tx: Transaction;
  readonly context: Pick<Context, "random" | "settings" | "onLastAdminLost">;
  readonly caller: ScimCaller;
  readonly user: ProvisionedUser;
  readonly now: number;
}

/**
 * Creates a user, or adopts the account of the same user at the identity provider: one that signed
 * in there before, or that the provider deleted. Never adopts another account, whatever its login
 * or email address is.
 *
 * @param resource a complete User as readResource returns it
 * @throws ScimRefusal `uniqueness` when the user or the login exists
 */
export async function createScimUser(
  context: Pick<Context, "store" | "random" | "settings" | "onLastAdminLost">,
  caller: ScimCaller,
  resource: ScimObject,
): Promise<UserView> {
  const user = toProvisionedUser(resource);
  const { store, settings } = context;
  return store.transact(async (tx) => {
    await assertScimToken(tx, caller);
    const adoptable = await findAdoptable(tx, context, user);
    const ids = adoptable === undefined ? [] : [adoptable];
    const persons = await lockScimPersons(tx, settings.mapping, ids);
    // A concurrent request may have created the same user before the lock.
    await findAdoptable(tx, context, user);
    const creating = { tx, context, caller, user, now: await tx.now() };
    const adopted = persons.get(adoptable ?? "");
    const person = adopted ?? (await makePerson(creating));
    await insertRow(creating, person.id);
    if (adopted !== undefined) await adopt(creating, person);
    if (!user.isActive) await disableScimPerson(tx, context, caller, person);
    else await enableScimPerson(tx, context, caller, person);
    const disabledAt = user.isActive ? null : creating.now;
    await settleScimPerson(tx, context, caller, { ...person, disabledAt });
    const stored = await readScimUser(tx, person.id);
    if (stored === undefined) throw new Error("a user was not stored");
    return toUserView(tx, stored);
  });
}

/**
 * The account that the provider itself identified, by a sign-in or by an earlier SCIM request.
 *
 * @throws ScimRefusal `uniqueness` when the provider already sent this user
 */
async function findAdoptable(
  tx: Transaction,
  { settings: { oidc, mapping } }: Pick<Context, "settings">,
  { externalId }: ProvisionedUser,
): Promise<string | undefined> {
  if (externalId === null) return undefined;
  const isSubject = oidc !== undefined && mapping.externalIdClaim === "sub";
  const known =
    (await readPersonIdByExternalId(tx, externalId)) ??
    (isSubject && isShort(externalId)
      ? await readPersonIdBySubject(tx, writeSubject(oidc.issuer, externalId))
      : undefined);
  if (known !== undefined && (await isProvisioned(tx, known))) {
    throw new ScimRefusal("uniqueness", `A user with the externalId ${externalId} exists.`);
  }
  return known;
}

/** A subject has at most 255 characters. */
function isShort(externalId: string): boolean {
  return externalId.length <= 255;
}

async function makePerson({ tx, context, caller, user, now }: Creating): Promise<StoredPerson> {
  const { login, name, externalId } = user;
  const person: StoredPerson = {
    id: uuidV7(now, context.random.bytes(10)),
    login,
    name,
    passwordHash: null,
    oidcSubject: null,
    createdAt: now,
    disabledAt: null,
  };
  if (isEmergency(context, login)) throw loginTaken(login);
  if (!(await insertPerson(tx, person, externalId))) {
    // Throws for a concurrent request with the same externalId.
    await findAdoptable(tx, context, user);
    throw loginTaken(login);
  }
  await appendAudit(tx, context.random, {
    at: now,
    projectId: "",
    kind: "person.created",
    actor: `scim:${caller.tokenId}`,
    subject: `person:${person.id}`,
    detail: { login, name, external_id: externalId },
  });
  return person;
}

/** The emergency account works without the provider, so the provider has no power over it. */
function isEmergency({ settings }: Pick<Context, "settings">, login: string): boolean {
  return login === settings.oidc?.breakGlass;
}

function loginTaken(login: string): ScimRefusal {
  return new ScimRefusal(
    "uniqueness",
    `Another account has the login ${login}. If it is the same user, the operator can run ` +
      "`countersign people link`, and you can then send the user again.",
  );
}

async function adopt({ tx, context, caller, user, now }: Creating, person: StoredPerson) {
  const { id, login } = person;
  const { name, externalId } = user;
  if (isEmergency(context, login)) throw loginTaken(login);
  await renamePerson(tx, id, name);
  await updateExternalId(tx, id, externalId);
  await appendAudit(tx, context.random, {
    at: now,
    projectId: "",
    kind: "person.updated",
    actor: `scim:${caller.tokenId}`,
    subject: `person:${id}`,
    detail: { name, external_id: externalId },
  });
}

/** @throws ScimRefusal `uniqueness` */
async function insertRow({ tx, user, now }: Creating, personId: string): Promise<void> {
  const { userName, login, attributes } = user;
  const row = {
    personId,
    userName,
    userNameKey: login,
    attributes: JSON.stringify(attributes),
    at: now,
  };
  if (await insertScimUser(tx, row)) return;
  throw new ScimRefusal("uniqueness", `A user with the userName ${userName} exists.`);
}
