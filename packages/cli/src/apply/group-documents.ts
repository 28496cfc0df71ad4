/** Groups: the documents that list members, and the groups of one member that follow from them. */

import * as v from "valibot";
import type { Documents, KindOf } from "./document.ts";
import { groupName, names, sorted } from "./schemas.ts";

export const groupSchema = v.strictObject({
  kind: v.literal("Group"),
  name: groupName,
  reviewers: v.optional(names, []),
  agents: v.optional(names, []),
});

export type GroupSpec = v.InferOutput<typeof groupSchema>;

export const GROUP: KindOf<GroupSpec> = { kind: "Group" };

export type Side = "reviewers" | "agents";

/**
 * The groups that a member should have. Groups without a document stay unchanged.
 *
 * @param current groups of the member on the server; empty for a new one
 */
export function groupsFor(
  documents: Documents,
  side: Side,
  member: string,
  current: readonly string[],
): string[] {
  const managed = documents.of(GROUP);
  const kept = current.filter((group) => !managed.some(({ name }) => name === group));
  const listed = managed.filter(({ spec }) => spec[side].includes(member));
  return sorted([...kept, ...listed.map(({ name }) => name)]);
}
