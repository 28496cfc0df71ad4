/**
 * Rows of the table `request` in pages, for the comparison with the audit log.
 */

import type { StoredRequest } from "../../../core/request.ts";
import type { Reader } from "../../store.ts";
import { REQUEST_COLUMNS, readIntactRequest } from "./request-rows.ts";
import type { Cursor } from "./requests.ts";

export interface ReadRow {
  readonly id: string;
  /** Undefined when no server wrote the row as it is. */
  readonly request: StoredRequest | undefined;
}

/** At most `limit` from behind an id on, in their order. */
export async function readRequestsAfter(
  reader: Reader,
  projectId: string,
  after: string,
  limit: number,
): Promise<ReadRow[]> {
  const rows = await reader.all(
    `select ${REQUEST_COLUMNS} from request where project_id = $1 and id > $2
     order by id limit $3`,
    [projectId, after, limit],
  );
  return rows.map((row) => ({ id: String(row.id), request: readIntactRequest(reader, row) }));
}

/** Requests that were decided after a cursor, the earliest decision first. */
export async function listDecidedAfter(
  reader: Reader,
  projectId: string,
  after: Cursor,
  limit: number,
): Promise<Cursor[]> {
  const rows = await reader.all(
    `select id, decided_at as at from request
     where decided_at is not null and project_id = $1 and (decided_at, id) > ($2, $3)
     order by decided_at, id limit $4`,
    [projectId, after.at, after.id, limit],
  );
  return rows.map(({ id, at }) => ({ id: String(id), at: Number(at) }));
}

/** The decision on a request, without its contents. */
export interface RequestState {
  readonly status: string;
  readonly decidedAt: number | null;
  readonly decidedBy: string | null;
}

/** How many ids {@link readRequestStates} takes. */
export const REQUEST_STATES_MAX = 500;

/** Those of these requests that exist, by their ids. */
export async function readRequestStates(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RequestState>> {
  if (ids.length === 0) return new Map();
  // Always as many parameters, so that it is one statement to prepare.
  const params = Array.from({ length: REQUEST_STATES_MAX }, (_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.all(
    `select id, status, decided_at, decided_by from request
     where project_id = $1 and id in (${params})`,
    [projectId, ...Array.from({ length: REQUEST_STATES_MAX }, (_, i) => ids[i] ?? null)],
  );
  return new Map(
    rows.map(({ id, status, decided_at: at = null, decided_by: by = null }) => [
      String(id),
      {
        status: String(status),
        decidedAt: at === null ? null : Number(at),
        decidedBy: by === null ? null : String(by),
      },
    ]),
  );
}
