/**
 * Rows of the table `request`.
 */

import type { ResolvableRequest, StoredDecision, StoredRequest } from "../../../core/request.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { InstanceKey, RowKey } from "../keys.ts";
import { macOfRequest, REQUEST_COLUMNS, readIntactRequest, toRequest } from "./request-rows.ts";

const SELECT = `select ${REQUEST_COLUMNS} from request where project_id = $1 and id = $2`;

/**
 * Inserts a request, pending or decided at once, unless its instance has used the key before: the
 * hash covers both.
 *
 * @param escalatesAt when the first step of its escalation is due, epoch ms; null: none
 * @returns whether it was inserted
 */
export async function insertRequest(
  tx: Transaction,
  request: StoredRequest,
  keyHash: string,
  escalatesAt: number | null = null,
): Promise<boolean> {
  const { decision } = request;
  const inserted = await tx.run(
    `insert into request (id, instance_id, project_id, key_hash, status, created_at, deadline_at,
       decided_at, expires_at, decided_by, note, tool, timeout, agent_reasoning, context, arguments,
       policy, server, escalates_at, traceparent, checksum, mac)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
       $20, 0, $21)
     on conflict (project_id, key_hash) do nothing`,
    [
      request.id,
      request.instanceId,
      request.projectId,
      keyHash,
      request.status,
      request.createdAt,
      request.deadlineAt,
      decision?.decidedAt ?? null,
      decision?.expiresAt ?? null,
      decision?.decidedBy ?? null,
      decision?.note ?? null,
      request.tool,
      request.timeout,
      request.agentReasoning,
      request.context,
      request.arguments,
      request.policy,
      request.server,
      escalatesAt,
      request.traceparent ?? null,
      macOfRequest(tx, request, keyHash),
    ],
  );
  return inserted === 1;
}

export async function lockRequestByKey(
  tx: Transaction,
  projectId: string,
  keyHash: string,
): Promise<StoredRequest | undefined> {
  const sql = `select ${REQUEST_COLUMNS} from request where project_id = $1 and key_hash = $2`;
  return toRequest(tx, await tx.lock("update", sql, [projectId, keyHash]));
}

export async function readRequestByKey(
  reader: Reader,
  projectId: string,
  keyHash: string,
): Promise<StoredRequest | undefined> {
  const sql = `select ${REQUEST_COLUMNS} from request where project_id = $1 and key_hash = $2`;
  return toRequest(reader, await reader.get(sql, [projectId, keyHash]));
}

/** Another project's request is as absent as none. */
export async function lockRequest(
  tx: Transaction,
  { projectId, id }: RowKey,
): Promise<StoredRequest | undefined> {
  return toRequest(tx, await tx.lock("update", SELECT, [projectId, id]));
}

/** The instance of a request, found by the request in one statement. */
const SELECT_INSTANCE = `select deleted_at from instance where project_id = $1
  and id = (select instance_id from request where project_id = $1 and id = $2)`;

/**
 * Locks a request so that this transaction may resolve it, and its instance against deletion: a
 * deletion waits for the commit, and a transaction that waited for a deletion reads it here.
 * Everything that locks both locks the instance first, so that two of them cannot deadlock.
 * Another project's request is as absent as none.
 */
export async function lockForResolution(
  tx: Transaction,
  { projectId, id }: RowKey,
): Promise<ResolvableRequest | undefined> {
  // Sent at once and answered one after another.
  const [instance, row] = await Promise.all([
    tx.lock("share", SELECT_INSTANCE, [projectId, id]),
    tx.lock("update", SELECT, [projectId, id]),
  ]);
  const request = toRequest(tx, row);
  if (request === undefined) return undefined;
  return { ...request, isInstanceDeleted: instance?.deleted_at !== null };
}

/** As {@link lockRequest}; another instance's request is as absent as none. */
export async function lockRequestOfInstance(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  id: string,
): Promise<StoredRequest | undefined> {
  const request = toRequest(tx, await tx.lock("update", SELECT, [projectId, id]));
  return request?.instanceId === instanceId ? request : undefined;
}

/** A request of this instance; another instance's is as absent as none. */
export async function readRequestOfInstance(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
  id: string,
): Promise<StoredRequest | undefined> {
  // Not said in the statement: PostgreSQL would take the index of the instance for as good, as
  // long as nothing is known of the table, and read all of its requests.
  const request = toRequest(reader, await reader.get(SELECT, [projectId, id]));
  return request?.instanceId === instanceId ? request : undefined;
}

/** Another project's request is as absent as none. */
export async function readRequest(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredRequest | undefined> {
  return toRequest(reader, await reader.get(SELECT, [projectId, id]));
}

/** A position in a listing: the time it is sorted by, and the id. */
export interface Cursor {
  readonly at: number;
  readonly id: string;
}

/** A listed request without its contents. */
export interface Outline extends Cursor {
  /** Length of what it holds. */
  readonly bytes: number;
}

/** SQL: the length of what a request holds. */
export const CONTENT_BYTES = `octet_length(arguments) + coalesce(octet_length(context), 0)
  + coalesce(octet_length(agent_reasoning), 0) + octet_length(tool) + octet_length(timeout)
  + coalesce(octet_length(policy), 0) + coalesce(octet_length(server), 0)`;

/** Pending requests after a cursor, those that end first at the front. */
export async function listPending(
  reader: Reader,
  projectId: string,
  after: Cursor,
  limit: number,
): Promise<Outline[]> {
  const rows = await reader.all(
    `select id, deadline_at as at, ${CONTENT_BYTES} as bytes from request
     where status = 'pending' and project_id = $1
       and (deadline_at, id) > ($2, $3)
     order by deadline_at, id limit $4`,
    [projectId, after.at, after.id, limit],
  );
  return rows.map(toOutline);
}

/** Decided requests after a cursor, the newest decision first. */
export async function listDecided(
  reader: Reader,
  projectId: string,
  before: Cursor,
  limit: number,
): Promise<Outline[]> {
  const rows = await reader.all(
    `select id, decided_at as at, ${CONTENT_BYTES} as bytes from request
     where decided_at is not null and project_id = $1
       and (decided_at, id) < ($2, $3)
     order by decided_at desc, id desc limit $4`,
    [projectId, before.at, before.id, limit],
  );
  return rows.map(toOutline);
}

export interface ReadRequests {
  /** Those that are as they were written, in the order that was asked for. */
  readonly requests: readonly StoredRequest[];
  /** Ids of requests that fail the check: none of their contents can be trusted. */
  readonly damaged: readonly string[];
}

/** The requests of these ids. The others are returned if one is damaged. */
export async function readRequests(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<ReadRequests> {
  if (ids.length === 0) return { requests: [], damaged: [] };
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const sql = `select ${REQUEST_COLUMNS} from request where project_id = $1 and id in (${params})`;
  const rows = await reader.all(sql, [projectId, ...ids]);
  const byId = new Map(rows.map((row) => [row.id, readIntactRequest(reader, row)]));
  return {
    requests: ids.flatMap((id) => byId.get(id) ?? []),
    damaged: ids.filter((id) => byId.has(id) && byId.get(id) === undefined),
  };
}

/** How many requests {@link readResolvedIds} takes. */
export const RESOLVED_IDS_MAX = 200;

/** @returns the ids of the given requests, of any projects, that are resolved */
export async function readResolvedIds(reader: Reader, keys: readonly RowKey[]): Promise<string[]> {
  // Always as many parameters, so that it is one statement to prepare.
  const params = Array.from(
    { length: RESOLVED_IDS_MAX },
    (_, i) => `($${2 * i + 1}, $${2 * i + 2})`,
  );
  const values = params.flatMap((_, i) => [keys[i]?.projectId ?? null, keys[i]?.id ?? null]);
  const rows = await reader.all(
    `select request.id from (values ${params.join(", ")}) as awaited
     join request on request.project_id = awaited.column1 and request.id = awaited.column2
     where request.status <> 'pending'`,
    values,
  );
  return rows.map((row) => String(row.id));
}

/** Records a decision on a request that the caller has locked and found pending. */
export async function updateDecision(
  tx: Transaction,
  request: StoredRequest,
  decision: StoredDecision,
): Promise<void> {
  const { keyHash } = request;
  if (keyHash === undefined) throw new Error("the decided request was not read from the store");
  // By `decided_at` and not by the status, for which there is an index of what is pending.
  const updated = await tx.run(
    `update request
     set status = $3, decided_at = $4, expires_at = $5, decided_by = $6, note = $7, checksum = 0,
       mac = $8
     where project_id = $1 and id = $2 and decided_at is null`,
    [
      request.projectId,
      request.id,
      decision.status,
      decision.decidedAt,
      decision.expiresAt,
      decision.decidedBy,
      decision.note,
      macOfRequest(tx, { ...request, status: decision.status, decision }, keyHash),
    ],
  );
  if (updated !== 1) throw new Error("a decision was recorded on a request that was not pending");
}

/**
 * Purges decided requests, each with its notification, announcements, messages in chats and of Web
 * Push, votes, failed confirmations, use and words in the search index.
 *
 * @param decidedBefore requests decided later are kept
 * @param endedBefore requests whose delivery ended later, or has not ended, are kept
 * @param createdBefore a notification this old has ended, even if that was not recorded
 * @returns how many requests of this project were purged, at most `limit`
 */
export async function deleteDecidedBefore(
  tx: Transaction,
  projectId: string,
  { decidedBefore, endedBefore, createdBefore }: Readonly<Record<RetentionBound, number>>,
  limit: number,
): Promise<number> {
  const rows = await tx.all(
    `select id from request where project_id = $1 and decided_at <= $2
       and not exists (select 1 from notification
         where notification.project_id = request.project_id
           and notification.request_id = request.id and notification.created_at > $4
           and (notification.ended_at is null or notification.ended_at > $3))
     order by decided_at limit $5`,
    [projectId, decidedBefore, endedBefore, createdBefore, limit],
  );
  if (rows.length === 0) return 0;
  const ids = rows.map(({ id }) => String(id));
  await Promise.all(ids.map((id) => tx.search.remove(tx, { projectId, id })));
  // Always as many parameters, so that each is one statement to prepare.
  const params = Array.from({ length: limit }, (_, i) => `$${i + 2}`).join(", ");
  const values = [projectId, ...Array.from({ length: limit }, (_, i) => ids[i] ?? null)];
  const deletions = [
    `delete from notification where project_id = $1 and request_id in (${params})`,
    `delete from announcement where project_id = $1 and request_id in (${params})`,
    `delete from channel_post where project_id = $1 and request_id in (${params})`,
    `delete from decision_notice where project_id = $1 and request_id in (${params})`,
    `delete from push_message where project_id = $1 and request_id in (${params})`,
    `delete from vote where project_id = $1 and request_id in (${params})`,
    `delete from request_comment where project_id = $1 and request_id in (${params})`,
    `delete from request_claim where project_id = $1 and request_id in (${params})`,
    `delete from failed_confirmation where project_id = $1 and request_id in (${params})`,
    `delete from delayed_verdict where project_id = $1 and request_id in (${params})`,
    `delete from consumption where project_id = $1 and request_id in (${params})`,
  ];
  for (const sql of deletions) await tx.run(sql, values);
  // Another replica may have purged some of them.
  return tx.run(`delete from request where project_id = $1 and id in (${params})`, values);
}

type RetentionBound = "decidedBefore" | "endedBefore" | "createdBefore";

function toOutline(row: Row): Outline {
  return { id: row.id as string, at: Number(row.at), bytes: Number(row.bytes) };
}
