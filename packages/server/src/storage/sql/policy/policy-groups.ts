/**
 * The groups of instances that a policy may name, read from those that are in them.
 */

import type { Reader } from "../../store.ts";
import { parseNames } from "../names.ts";

/** The groups of instances that are not deleted, each perhaps several times. */
export async function readInstanceGroups(reader: Reader, projectId: string): Promise<string[]> {
  const sql = `select distinct group_names from instance
    where project_id = $1 and group_names <> '[]' and deleted_at is null`;
  const rows = await reader.all(sql, [projectId]);
  return rows.flatMap((row) => parseNames(row.group_names));
}
