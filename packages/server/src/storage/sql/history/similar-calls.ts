/**
 * Rows of the table `request`: what became of earlier calls of one tool by one instance. They come
 * from the index of such calls, and no more of it is read than lies in a span and a bound.
 */

import type { RequestStatus } from "@countersign/protocol";
import type { Actor } from "../../../core/actor.ts";
import type { JsonText, StoredRequest } from "../../../core/request.ts";
import type { Reader, SqlValue } from "../../store.ts";
import { indexedPrefixes, isFullyIndexed } from "./call-history.ts";

/** Calls of a request's tool and instance that were made between two times, both left out. */
export interface SimilarCallsQuery {
  readonly request: Pick<StoredRequest, "projectId" | "instanceId" | "tool" | "server">;
  /** Epoch ms. */
  readonly after: number;
  /** Epoch ms. */
  readonly before: number;
}

const OF_TOOL = `project_id = $1 and instance_id = $2 and substr(tool, 1, 200) = $3
  and coalesce(substr(server, 1, 200), '') = $4`;

const SIMILAR = `from request /* indexed by request_tool_made */
  where ${OF_TOOL} and created_at > $5 and created_at < $6`;

/** Adds what the index does not have of a long name. */
function prepare(
  sql: string,
  { request, after, before }: SimilarCallsQuery,
  more: readonly SqlValue[] = [],
): [string, SqlValue[]] {
  const { projectId, instanceId, tool, server } = request;
  const values = [projectId, instanceId, ...indexedPrefixes(request), after, before, ...more];
  if (isFullyIndexed(request)) return [sql, values];
  const ofTool = `tool = $${values.push(tool)}`;
  const ofServer = `coalesce(server, '') = $${values.push(server ?? "")}`;
  return [sql.replaceAll(OF_TOOL, `${OF_TOOL} and ${ofTool} and ${ofServer}`), values];
}

/**
 * When the newest calls begin of which there are no more than so many.
 *
 * @returns undefined when there are fewer
 */
export async function readBound(
  reader: Reader,
  similar: SimilarCallsQuery,
  callsMax: number,
): Promise<number | undefined> {
  const sql = `select created_at ${SIMILAR} order by created_at desc limit 1 offset $7`;
  const row = await reader.get(...prepare(sql, similar, [callsMax]));
  return row === undefined ? undefined : Number(row.created_at);
}

/** How many calls there are of each status. */
export async function countByStatus(
  reader: Reader,
  similar: SimilarCallsQuery,
): Promise<ReadonlyMap<RequestStatus, number>> {
  const sql = `select status, count(*) as calls ${SIMILAR} group by status`;
  const rows = await reader.all(...prepare(sql, similar));
  return new Map(rows.map((row) => [row.status as RequestStatus, Number(row.calls)]));
}

/** The id of the newest one that was approved. */
export async function findLastApproved(
  reader: Reader,
  similar: SimilarCallsQuery,
): Promise<string | undefined> {
  const sql = `select id ${SIMILAR} and status = 'approved' order by created_at desc limit 1`;
  return (await reader.get(...prepare(sql, similar)))?.id as string | undefined;
}

/** The arguments of the newest approved ones, without those of more bytes. */
export async function findApprovedArguments(
  reader: Reader,
  similar: SimilarCallsQuery,
  max: { readonly calls: number; readonly bytes: number },
): Promise<readonly JsonText[]> {
  const sql = `select arguments ${SIMILAR} and status = 'approved'
      and octet_length(arguments) <= $7 order by created_at desc limit $8`;
  const rows = await reader.all(...prepare(sql, similar, [max.bytes, max.calls]));
  return rows.map((row) => row.arguments as JsonText);
}

export interface DeniedCall {
  readonly id: string;
  readonly decidedAt: number;
  readonly decidedBy: Actor;
  readonly note: JsonText | null;
}

/** The newest one that was denied and had these very arguments, of so many that were denied. */
export async function findDenied(
  reader: Reader,
  similar: SimilarCallsQuery,
  args: JsonText,
  deniedMax: number,
): Promise<DeniedCall | undefined> {
  const sql = `select id, decided_at, decided_by, note from (
      select id, decided_at, decided_by, note, created_at,
        case when octet_length(arguments) = octet_length($7) then arguments end as same
      ${SIMILAR} and status = 'denied' order by created_at desc limit $8) as denied
    where same = $7 order by created_at desc limit 1`;
  const row = await reader.get(...prepare(sql, similar, [args, deniedMax]));
  if (row === undefined) return undefined;
  return {
    id: row.id as string,
    decidedAt: Number(row.decided_at),
    decidedBy: row.decided_by as Actor,
    note: row.note as string | null,
  };
}
