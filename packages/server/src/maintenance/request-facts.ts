/** The facts about a request that its entries in the audit log must have. */

import type { EntryContent } from "../core/audit-line.ts";
import { sha256Hex } from "../core/digest.ts";
import type { StoredRequest } from "../core/request.ts";
import type { RequestState } from "../storage/sql/requests/request-states.ts";

/** Without the contents of the request, which can have 1 MiB. */
export interface RequestFacts extends RequestState {
  readonly id: string;
  readonly createdAt: number;
  /** The actor of its opening. */
  readonly agent: string;
  /** The details of its entries, by name. */
  readonly detail: Readonly<Record<string, unknown>>;
}

export function factsOf(request: StoredRequest): RequestFacts {
  const { id, createdAt, decision, instanceId, deadlineAt, tool, server } = request;
  const agent = `instance:${instanceId}`;
  return {
    id,
    createdAt,
    agent,
    status: request.status,
    decidedAt: decision?.decidedAt ?? null,
    decidedBy: decision?.decidedBy ?? null,
    detail: {
      tool_sha256: sha256Hex(tool),
      server_sha256: server === null ? undefined : sha256Hex(server),
      arguments_sha256: sha256Hex(request.arguments),
      deadline_at: deadlineAt,
      opened_by: agent,
      status: decision?.status,
      expires_at: decision?.expiresAt,
      note_sha256: typeof decision?.note === "string" ? sha256Hex(decision.note) : null,
    },
  };
}

/**
 * Entries of earlier versions have fewer fields. Only existing fields are compared.
 *
 * @returns the difference, for people
 */
export function findDifference(
  { agent, decidedBy, detail: expected }: RequestFacts,
  { kind, actor, detail }: EntryContent,
): string | undefined {
  const name = Object.keys(expected).find(
    (each) => each in detail && detail[each] !== expected[each],
  );
  if (name !== undefined) return `${name} of its row differs from the entry ${kind} in the log`;
  const isResolved = kind === "request.resolved";
  if (actor === (isResolved ? decidedBy : agent)) return undefined;
  const column = isResolved ? "decided_by" : "instance_id";
  return `${column} of its row differs from the entry ${kind} in the log`;
}

/**
 * @param entry a resolution
 * @returns the contradiction, for people
 */
export function findContradiction(
  { at, actor, detail }: EntryContent,
  { status, decidedAt, decidedBy }: RequestState,
): string | undefined {
  if (status !== detail.status) {
    return `its row has the status ${status}, but the log has ${detail.status}`;
  }
  if (decidedAt === at && decidedBy === actor) return undefined;
  return "its row has another decision than the log";
}
