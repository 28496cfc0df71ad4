/**
 * Rows of the table `request` by the time at which they were made, which their identifiers begin
 * with: no index of its own keeps that order.
 */

import { uuidV7 } from "@countersign/protocol";
import type { Reader } from "../../store.ts";
import { CONTENT_BYTES, type Outline } from "../requests/requests.ts";

/** Part of a project's history. */
export interface HistoryRange {
  readonly projectId: string;
  /** Epoch ms; not before it. */
  readonly since: number;
  /** Behind this identifier there is nothing of it. */
  readonly beforeId: string;
}

/** A request of the past, without its contents. */
export interface RequestOutline extends Outline {
  readonly instanceId: string;
}

const NO_CHANCE = new Uint8Array(10);

/** Sorts before the identifiers of all requests that were made at this time or later. */
export function firstIdAt(ms: number): string {
  return uuidV7(Math.max(0, ms), NO_CHANCE);
}

/** The newest first; `at` is when they were made. */
export async function listCreated(
  reader: Reader,
  { projectId, since, beforeId }: HistoryRange,
  limit: number,
): Promise<RequestOutline[]> {
  const rows = await reader.all(
    `select id, instance_id, created_at as at, ${CONTENT_BYTES} as bytes from request
     where project_id = $1 and id >= $2 and id < $3 order by id desc limit $4`,
    [projectId, firstIdAt(since), beforeId, limit],
  );
  return rows.map((row) => ({
    id: row.id as string,
    instanceId: row.instance_id as string,
    at: Number(row.at),
    bytes: Number(row.bytes),
  }));
}

/** The name and the judgement of a request. */
export interface JudgedOutline {
  readonly id: string;
  readonly instanceId: string;
  /** JSON texts. */
  readonly tool: string;
  readonly server: string | null;
  /** Null when no policy was active. */
  readonly policy: string | null;
}

/** The newest first. */
export async function listJudged(
  reader: Reader,
  { projectId, since, beforeId }: HistoryRange,
  limit: number,
): Promise<JudgedOutline[]> {
  const rows = await reader.all(
    `select id, instance_id, tool, server, policy from request
     where project_id = $1 and id >= $2 and id < $3 order by id desc limit $4`,
    [projectId, firstIdAt(since), beforeId, limit],
  );
  return rows.map((row) => ({
    id: row.id as string,
    instanceId: row.instance_id as string,
    tool: row.tool as string,
    server: row.server as string | null,
    policy: row.policy as string | null,
  }));
}

/** The arguments of a request, by the name of its tool. JSON texts. */
export interface ArgumentsOutline extends Pick<JudgedOutline, "tool" | "server"> {
  /** Null when they are longer than asked for. */
  readonly arguments: string | null;
}

/** The newest first. */
export async function listArguments(
  reader: Reader,
  { projectId, since, beforeId }: HistoryRange,
  { limit, bytesMax }: { readonly limit: number; readonly bytesMax: number },
): Promise<ArgumentsOutline[]> {
  const rows = await reader.all(
    `select tool, server,
       case when octet_length(arguments) <= $5 then arguments end as short_arguments
     from request where project_id = $1 and id >= $2 and id < $3 order by id desc limit $4`,
    [projectId, firstIdAt(since), beforeId, limit, bytesMax],
  );
  return rows.map((row) => ({
    tool: row.tool as string,
    server: row.server as string | null,
    arguments: row.short_arguments as string | null,
  }));
}

/** Counts up to `max` and no further. */
export async function countCreated(
  reader: Reader,
  { projectId, since, beforeId }: HistoryRange,
  max: number,
): Promise<number> {
  const [row] = await reader.all(
    `select count(*) as made from (select id from request
       where project_id = $1 and id >= $2 and id < $3 limit $4) as counted`,
    [projectId, firstIdAt(since), beforeId, max],
  );
  return Number(row?.made ?? 0);
}
