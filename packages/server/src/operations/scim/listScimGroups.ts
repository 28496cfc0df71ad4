/** Reads the groups that an identity provider sent. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { type Filter, matchesScimFilter, requiredValue } from "../../core/scim-filter.ts";
import { type GroupView, writeGroup } from "../../core/scim-person.ts";
import { GROUP_SCHEMA } from "../../core/scim-schema.ts";
import { toGroupView } from "../../steps/scim/toGroupView.ts";
import {
  listScimGroupRows,
  readScimGroup,
  type StoredScimGroup,
} from "../../storage/sql/scim/scim-groups.ts";
import type { ScimPage, ScimQuery } from "./listScimUsers.ts";

/** @throws Problem `not_found` */
export async function showScimGroup(
  { store }: Pick<Context, "store">,
  id: string,
): Promise<GroupView> {
  const group = await readScimGroup(store, id);
  if (group === undefined) throw new Problem("not_found");
  return toGroupView(store, group);
}

/**
 * A page of groups, the oldest first.
 *
 * @throws ScimRefusal `invalidFilter`
 */
export async function listScimGroups(
  { store }: Pick<Context, "store">,
  { filter, offset, limit }: ScimQuery,
): Promise<ScimPage<GroupView>> {
  const groups = await listScimGroupRows(store);
  if (filter === undefined) {
    const resources: GroupView[] = [];
    for (const group of groups.slice(offset, offset + limit)) {
      resources.push(await toGroupView(store, group));
    }
    return { total: groups.length, resources };
  }
  const page: GroupView[] = [];
  let total = 0;
  for (const group of candidates(groups, filter)) {
    const view = await toGroupView(store, group);
    if (!matchesScimFilter(GROUP_SCHEMA, filter, writeGroup(view, ""))) continue;
    if (total >= offset && page.length < limit) page.push(view);
    total++;
  }
  return { total, resources: page };
}

/** Groups that can match, without their members. Providers look up groups by name or id. */
function candidates(
  groups: readonly StoredScimGroup[],
  filter: Filter,
): readonly StoredScimGroup[] {
  const name = requiredValue(GROUP_SCHEMA, filter, "displayName")?.toLowerCase();
  const externalId = requiredValue(GROUP_SCHEMA, filter, "externalId");
  const id = requiredValue(GROUP_SCHEMA, filter, "id");
  return groups.filter(
    (group) =>
      (name === undefined || group.displayName.toLowerCase() === name) &&
      (externalId === undefined || group.externalId === externalId) &&
      (id === undefined || group.id === id),
  );
}
