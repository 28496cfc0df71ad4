/** The trace contexts of requests: the column `traceparent` of the table `request`. */

import type { Reader } from "../../store.ts";

/** @returns those of requests that were created with telemetry, in any order */
export async function readTraceparents(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<string[]> {
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select traceparent from request
     where project_id = $1 and id in (${params}) and traceparent is not null`,
    [projectId, ...ids],
  );
  return rows.map((row) => String(row.traceparent));
}
