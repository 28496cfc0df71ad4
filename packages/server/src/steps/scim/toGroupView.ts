import type { GroupView } from "../../core/scim-person.ts";
import { listMembersOf, type StoredScimGroup } from "../../storage/sql/scim/scim-groups.ts";
import type { Reader } from "../../storage/store.ts";

/** A stored group with its members. */
export async function toGroupView(reader: Reader, group: StoredScimGroup): Promise<GroupView> {
  return { ...group, members: await listMembersOf(reader, group.id) };
}
