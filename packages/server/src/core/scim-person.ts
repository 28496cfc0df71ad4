/** Maps users and groups between SCIM resources and the rows of this server. */

import { formatTimestamp } from "@countersign/protocol";
import { isExternalId } from "./claims.ts";
import { normalizeLogin, normalizeName } from "./login.ts";
import { ScimRefusal } from "./scim-refusal.ts";
import { isObject, type ScimObject } from "./scim-resource.ts";
import { GROUP_SCHEMA, USER_SCHEMA } from "./scim-schema.ts";

/** A user as the provider describes it. */
export interface ProvisionedUser {
  /** As sent. */
  readonly userName: string;
  /** The user name in the form of a login. */
  readonly login: string;
  /** Display name. */
  readonly name: string;
  readonly externalId: string | null;
  readonly isActive: boolean;
  /** The attributes `name`, `displayName` and `emails`, to return them unchanged. */
  readonly attributes: ScimObject;
}

/**
 * @param resource a complete User as readResource returns it
 * @throws ScimRefusal for a user name that cannot be a login
 */
export function toProvisionedUser(resource: ScimObject): ProvisionedUser {
  const userName = String(resource.userName);
  const login = normalizeLogin(userName);
  if (login === undefined) {
    throw new ScimRefusal(
      "invalidValue",
      "userName must be 1 to 254 visible characters without spaces.",
    );
  }
  const { name, displayName, emails } = resource;
  return {
    userName,
    login,
    name: displayNameOf(resource) ?? login,
    externalId: externalIdOf(resource),
    isActive: resource.active !== false,
    attributes: { name, displayName, emails },
  };
}

function displayNameOf({ displayName, name }: ScimObject): string | undefined {
  const { formatted, givenName, familyName } = isObject(name) ? name : {};
  const whole = [givenName, familyName].filter((part) => part !== undefined).join(" ");
  const candidates = [displayName, formatted, whole];
  return candidates
    .map((each) => normalizeName(typeof each === "string" ? each : ""))
    .find((each) => each !== undefined);
}

/** @throws ScimRefusal for a group without members that can be users */
export function memberIdsOf({ members = [] }: ScimObject): readonly string[] {
  const ids = (members as ScimObject[]).map(({ value, type }) => {
    if (typeof type === "string" && type.toLowerCase() !== "user") {
      const message = "A group cannot contain groups. Send only users as members.";
      throw new ScimRefusal("invalidValue", message);
    }
    if (typeof value !== "string") {
      throw new ScimRefusal("invalidValue", "A member must have the id of a user as value.");
    }
    return value;
  });
  return [...new Set(ids)].sort();
}

/** @throws ScimRefusal for a text that is too long */
export function externalIdOf({ externalId }: ScimObject): string | null {
  if (typeof externalId !== "string" || externalId === "") return null;
  if (isExternalId(externalId)) return externalId;
  throw new ScimRefusal("invalidValue", "externalId is too long.");
}

interface Times {
  readonly createdAt: number;
  readonly changedAt: number;
}

export interface UserView extends Times {
  readonly id: string;
  readonly userName: string;
  readonly externalId: string | null;
  readonly isActive: boolean;
  readonly attributes: ScimObject;
  readonly groups: readonly { readonly id: string; readonly displayName: string }[];
}

/** The attributes that a client may write, as readResource returns them. */
export function writableUser(user: UserView): ScimObject {
  const { userName, externalId, isActive, attributes } = user;
  return withoutNothing({
    userName,
    externalId: externalId ?? undefined,
    active: isActive,
    ...attributes,
  });
}

/** @param base address of the API, without a trailing slash */
export function writeUser(user: UserView, base: string): ScimObject {
  const groups = user.groups.map(({ id, displayName }) => {
    return { value: id, $ref: `${base}/Groups/${id}`, display: displayName };
  });
  return withoutNothing({
    schemas: [USER_SCHEMA.id],
    id: user.id,
    ...writableUser(user),
    groups: groups.length === 0 ? undefined : groups,
    meta: metaOf("User", user, `${base}/Users/${user.id}`),
  });
}

export interface GroupView extends Times {
  readonly id: string;
  readonly displayName: string;
  readonly externalId: string | null;
  /** Ids of users. */
  readonly members: readonly string[];
}

export function writableGroup({ displayName, externalId, members }: GroupView): ScimObject {
  return withoutNothing({
    displayName,
    externalId: externalId ?? undefined,
    members: members.length === 0 ? undefined : members.map((value) => ({ value })),
  });
}

/** @param base address of the API, without a trailing slash */
export function writeGroup(group: GroupView, base: string): ScimObject {
  const members = group.members.map((value) => {
    return { value, $ref: `${base}/Users/${value}`, type: "User" };
  });
  return withoutNothing({
    schemas: [GROUP_SCHEMA.id],
    id: group.id,
    ...writableGroup(group),
    members: members.length === 0 ? undefined : members,
    meta: metaOf("Group", group, `${base}/Groups/${group.id}`),
  });
}

function metaOf(resourceType: string, { createdAt, changedAt }: Times, location: string) {
  return {
    resourceType,
    created: formatTimestamp(createdAt),
    lastModified: formatTimestamp(changedAt),
    location,
  };
}

function withoutNothing(object: ScimObject): ScimObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
