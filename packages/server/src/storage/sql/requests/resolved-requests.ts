/**
 * Resolved rows of the table `request`, in the order of their decisions, for the history. Read
 * through the indexes `request_decided` and `request_refused`, a range at a time.
 */

import type { TerminalStatus } from "@countersign/protocol";
import type { StoredDecision } from "../../../core/request.ts";
import type { ResolvedOutline } from "../../../core/request-filter.ts";
import type { Reader, Row } from "../../store.ts";
import { CONTENT_BYTES, type Cursor } from "./requests.ts";

const OUTLINE = `id, instance_id, tool, server, created_at, status, decided_by, decided_at,
  ${CONTENT_BYTES} as bytes`;

/** Resolved requests of a project. */
export interface ResolvedRange {
  readonly projectId: string;
  /** Leaves out approved requests, which are most of them, with the index `request_refused`. */
  readonly isWithoutApproved: boolean;
}

/** As in the index `request_refused`: the databases compare the text. */
const REFUSED = "status in ('denied', 'expired', 'cancelled')";

/** Those decided before a cursor, the newest decision first. */
export async function listResolvedBefore(
  reader: Reader,
  range: ResolvedRange,
  before: Cursor,
  limit: number,
): Promise<ResolvedOutline[]> {
  const { projectId, isWithoutApproved } = range;
  const all = `select ${OUTLINE} from request
     where decided_at is not null and project_id = $1 and (decided_at, id) < ($2, $3)
     order by decided_at desc, id desc limit $4`;
  const refused = `select ${OUTLINE} from request
     where ${REFUSED} and project_id = $1 and (decided_at, id) < ($2, $3)
     order by decided_at desc, id desc limit $4`;
  const values = [projectId, before.at, before.id, limit];
  return (await reader.all(isWithoutApproved ? refused : all, values)).map(toOutline);
}

/** Those decided after a cursor, the oldest decision first. */
export async function listResolvedAfter(
  reader: Reader,
  range: ResolvedRange,
  after: Cursor,
  limit: number,
): Promise<ResolvedOutline[]> {
  const { projectId, isWithoutApproved } = range;
  const all = `select ${OUTLINE} from request
     where decided_at is not null and project_id = $1 and (decided_at, id) > ($2, $3)
     order by decided_at, id limit $4`;
  const refused = `select ${OUTLINE} from request
     where ${REFUSED} and project_id = $1 and (decided_at, id) > ($2, $3)
     order by decided_at, id limit $4`;
  const values = [projectId, after.at, after.id, limit];
  return (await reader.all(isWithoutApproved ? refused : all, values)).map(toOutline);
}

function toOutline(row: Row): ResolvedOutline {
  return {
    id: row.id as string,
    instanceId: row.instance_id as string,
    tool: row.tool as string,
    server: row.server as string | null,
    createdAt: Number(row.created_at),
    status: row.status as TerminalStatus,
    decidedBy: row.decided_by as StoredDecision["decidedBy"],
    at: Number(row.decided_at),
    bytes: Number(row.bytes),
  };
}
