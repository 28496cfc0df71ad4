/**
 * Rows of the table `request`: reads a request after its MAC shows that a server wrote it, and
 * computes the MAC of a request that is written.
 */

import { crc32 } from "node:zlib";
import type { RequestStatus } from "@countersign/protocol";
import type { Actor } from "../../../core/actor.ts";
import type { StoredRequest } from "../../../core/request.ts";
import { Failure } from "../../../failure.ts";
import type { Integrity } from "../../integrity.ts";
import type { Reader, Row, SqlValue } from "../../store.ts";

export const REQUEST_COLUMNS = `id, instance_id, project_id, key_hash, status, created_at,
  deadline_at, decided_at, expires_at, decided_by, note, tool, timeout, agent_reasoning, context,
  arguments, policy, server, checksum, mac`;

export function toRequest(reader: Reader, row: Row | undefined): StoredRequest | undefined {
  return row === undefined ? undefined : fromRow(reader, row);
}

/** @throws Failure when the row is not what was written */
function fromRow(reader: Reader, row: Row): StoredRequest {
  const request = readIntactRequest(reader, row);
  if (request !== undefined) return request;
  throw new Failure("store", `the stored request ${row.id} is damaged`);
}

/** @returns undefined when the row is not what was written, which is then reported */
export function readIntactRequest({ integrity }: Reader, row: Row): StoredRequest | undefined {
  if (isIntactRow(integrity, row)) return readColumns(row);
  const [projectId, id] = [String(row.project_id), String(row.id)];
  integrity.report({ table: "request", projectId, id });
  return undefined;
}

/**
 * Whether a server wrote the row. One from before rows had MACs has none as long as it is as it was
 * then, and its checksum shows damage, not deliberate changes.
 */
export function isIntactRow(integrity: Integrity, row: Row): boolean {
  const { mac = null, id } = row;
  if (mac !== null) return integrity.isAuthentic("request", valuesOfRow(row), mac);
  const decidedAt = row.decided_at ?? null;
  if (!integrity.mayLackMac(String(id), decidedAt === null ? 0 : Number(decidedAt))) return false;
  return Number(row.checksum) === checksum(readColumns(row));
}

/** Values of the columns `checksum` and `mac`, for tools that write rows themselves. */
export function authenticateRow(integrity: Integrity, row: Row): { checksum: number; mac: string } {
  return { checksum: 0, mac: integrity.macOf("request", valuesOfRow(row)) };
}

export function macOfRequest(
  { integrity }: Reader,
  request: StoredRequest,
  keyHash: string,
): string {
  const { decision } = request;
  return integrity.macOf("request", [
    request.projectId,
    request.id,
    request.instanceId,
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
  ]);
}

/** In the order of {@link macOfRequest}. */
const AUTHENTICATED = [
  "project_id",
  "id",
  "instance_id",
  "key_hash",
  "status",
  "created_at",
  "deadline_at",
  "decided_at",
  "expires_at",
  "decided_by",
  "note",
  "tool",
  "timeout",
  "agent_reasoning",
  "context",
  "arguments",
  "policy",
  "server",
] as const;

function valuesOfRow(row: Row): SqlValue[] {
  return AUTHENTICATED.map((name) => row[name] ?? null);
}

/** Of rows from before there were MACs. */
function checksum(request: StoredRequest): number {
  const { decision } = request;
  const small = [
    request.id,
    request.instanceId,
    request.projectId,
    request.status,
    request.timeout,
    request.createdAt,
    request.deadlineAt,
    request.tool,
    request.agentReasoning,
    request.context,
    decision?.decidedAt,
    decision?.expiresAt,
    decision?.decidedBy,
    decision?.note,
  ];
  // Rows of the time before policy were written without it, and so with the server. The texts of
  // the two cannot be taken for each other: an object, and a string.
  if (request.policy !== null) small.push(request.policy);
  if (request.server !== null) small.push(request.server);
  return crc32(request.arguments, crc32(small.join("\n")));
}

function readColumns(row: Row): StoredRequest {
  const status = row.status as RequestStatus;
  return {
    id: row.id as string,
    instanceId: row.instance_id as string,
    projectId: row.project_id as string,
    keyHash: row.key_hash as string,
    tool: row.tool as string,
    server: row.server as string | null,
    arguments: row.arguments as string,
    timeout: row.timeout as string,
    agentReasoning: row.agent_reasoning as string | null,
    context: row.context as string | null,
    policy: row.policy as string | null,
    status,
    createdAt: Number(row.created_at),
    deadlineAt: Number(row.deadline_at),
    decision:
      status === "pending"
        ? null
        : {
            status,
            note: row.note as string | null,
            decidedAt: Number(row.decided_at),
            expiresAt: row.expires_at === null ? null : Number(row.expires_at),
            decidedBy: row.decided_by as Actor,
          },
  };
}
