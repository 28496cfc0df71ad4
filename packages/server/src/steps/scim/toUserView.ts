import type { UserView } from "../../core/scim-person.ts";
import type { ScimObject } from "../../core/scim-resource.ts";
import { listScimGroupsOf } from "../../storage/sql/scim/scim-groups.ts";
import type { StoredScimUser } from "../../storage/sql/scim/scim-users.ts";
import type { Reader } from "../../storage/store.ts";

/** A stored user with its groups. */
export async function toUserView(reader: Reader, user: StoredScimUser): Promise<UserView> {
  const { personId: id, userName, externalId, disabledAt, createdAt, changedAt } = user;
  return {
    id,
    userName,
    externalId,
    isActive: disabledAt === null,
    attributes: JSON.parse(user.attributes) as ScimObject,
    groups: await listScimGroupsOf(reader, id),
    createdAt,
    changedAt,
  };
}
