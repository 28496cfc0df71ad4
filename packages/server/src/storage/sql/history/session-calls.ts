/**
 * Rows of the table `request`: the calls of one instance before and after a call, with their
 * context, which contains the session. Read through the index `request_made`.
 */

import type { StoredRequest } from "../../../core/request.ts";
import type { Reader } from "../../store.ts";
import type { Cursor } from "../requests/requests.ts";

export interface CallsOfInstance extends Pick<StoredRequest, "projectId" | "instanceId"> {
  readonly direction: "before" | "after";
  /** Creation time and id of a call, itself left out. */
  readonly from: Cursor;
  /** A longer context is not read, in bytes. */
  readonly contextBytesMax: number;
}

export interface CallContext extends Cursor {
  /** JSON text; null also when it is too long. */
  readonly context: string | null;
}

const COLUMNS = `id, created_at as at,
  case when octet_length(context) <= $6 then context end as context`;

const STATEMENTS = {
  before: `select ${COLUMNS} from request
    where project_id = $1 and instance_id = $2 and (created_at, id) < ($3, $4)
    order by created_at desc, id desc limit $5`,
  after: `select ${COLUMNS} from request
    where project_id = $1 and instance_id = $2 and (created_at, id) > ($3, $4)
    order by created_at asc, id asc limit $5`,
};

/** The calls that are nearest to the cursor, nearest first. */
export async function listCallContexts(
  reader: Reader,
  { projectId, instanceId, direction, from, contextBytesMax }: CallsOfInstance,
  limit: number,
): Promise<CallContext[]> {
  const values = [projectId, instanceId, from.at, from.id, limit, contextBytesMax];
  const rows = await reader.all(STATEMENTS[direction], values);
  return rows.map((row) => ({
    id: row.id as string,
    at: Number(row.at),
    context: row.context as string | null,
  }));
}
