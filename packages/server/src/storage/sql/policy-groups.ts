/**
 * The groups that a policy may name, read from the columns `group_names` of those who are in them.
 */

import type { Reader } from "../store.ts";
import { parseNames } from "./names.ts";

export interface ReviewerGroups {
  /** Of all reviewers of a project. */
  readonly names: readonly string[];
  /** Each perhaps several times. */
  readonly groups: readonly string[];
}

export async function readReviewerGroups(
  reader: Reader,
  projectId: string,
): Promise<ReviewerGroups> {
  const sql = "select name, group_names from reviewer where project_id = $1";
  const rows = await reader.all(sql, [projectId]);
  return {
    names: rows.map(({ name }) => String(name)),
    groups: rows.flatMap((row) => parseNames(row.group_names)),
  };
}

/** The groups of instances that are not deleted, each perhaps several times. */
export async function readInstanceGroups(reader: Reader, projectId: string): Promise<string[]> {
  const sql = `select distinct group_names from instance
    where project_id = $1 and group_names <> '[]' and deleted_at is null`;
  const rows = await reader.all(sql, [projectId]);
  return rows.flatMap((row) => parseNames(row.group_names));
}
