import type { KnownGroups } from "../../policy/rule.ts";
import { listReviewersOf, readProjectIds } from "../../storage/sql/access/holders.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { listSchedulesOf } from "../../storage/sql/oncall/schedules.ts";
import { readInstanceGroups } from "../../storage/sql/policy/policy-groups.ts";
import type { Reader } from "../../storage/store.ts";

/**
 * The groups that a policy may currently name.
 *
 * @param projectId of the policy; `SERVER` for the baseline policy, which may name groups of all
 * projects
 */
export async function readKnownGroups(reader: Reader, projectId: string): Promise<KnownGroups> {
  const reviewers = new Set<string>();
  const reviewerNames = new Set<string>();
  const instances = new Set<string>();
  const schedules = new Set<string>();
  for (const id of projectId === SERVER ? await readProjectIds(reader) : [projectId]) {
    for (const { name, groups, removedAt } of await listReviewersOf(reader, id)) {
      if (removedAt !== null) continue;
      reviewerNames.add(name);
      for (const group of groups) reviewers.add(group);
    }
    for (const group of await readInstanceGroups(reader, id)) instances.add(group);
    for (const { name } of await listSchedulesOf(reader, id)) schedules.add(name);
  }
  return { reviewers, reviewerNames, instances, schedules };
}
