/** Reads the pending requests and the freezes of a project, for the event stream. */

import type { Context } from "../../context.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { readPendingIds } from "../../storage/sql/requests/pending-requests.ts";
import { listFreezes } from "../freezes/listFreezes.ts";

/** With more pending requests, a project is not compared, and only signals are sent. */
const PENDING_MAX = 5_000;

const FREEZES_MAX = 200;

export interface ProjectScan {
  /** Ids of the pending requests; undefined when there are too many. */
  readonly pending: ReadonlySet<string> | undefined;
  /** Changes when a freeze is created or lifted. */
  readonly freezes: string;
}

/** The pending requests and freezes of a project: two reads of bounded cost. */
export async function scanProject(context: Context, projectId: string): Promise<ProjectScan> {
  const [ids, freezes] = await Promise.all([
    readPendingIds(context.store, projectId, PENDING_MAX + 1),
    listFreezes(context, { projectId }, { state: "in_force", limit: FREEZES_MAX }),
  ]);
  return {
    pending: ids.length > PENDING_MAX ? undefined : new Set(ids),
    freezes: freezes.freezes.map(({ freeze }) => freeze.id).join(),
  };
}

/** True when a freeze of that project (or the server) covers this project. */
export function freezeAppliesTo(frozenProjectId: string, projectId: string): boolean {
  return frozenProjectId === projectId || frozenProjectId === SERVER;
}
