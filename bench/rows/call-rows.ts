/**
 * The rows that a provider stores for a tool call of the benchmark: a request and audit entries.
 */

import { uuidV7 } from "@countersign/protocol";
import type { AuditEntry } from "../../packages/server/src/audit/append-audit.ts";
import type { Random } from "../../packages/server/src/clock.ts";
import { sha256Hex } from "../../packages/server/src/core/digest.ts";
import type { StoredDecision, StoredRequest } from "../../packages/server/src/core/request.ts";
import type { Rows } from "./open-rows.ts";

/** The body of a tool call, as messages.ts makes them. */
export interface CallBody {
  readonly tool: string;
  readonly arguments: unknown;
  readonly timeout: string;
  readonly agent_reasoning: string;
  readonly context: unknown;
}

const WINDOW_MS = 604_800_000;

/** Pending, and made now. */
export function toRequest(
  body: CallBody,
  instance: Rows["instance"],
  random: Random,
): StoredRequest {
  const now = Date.now();
  return {
    id: uuidV7(now, random.bytes(10)),
    instanceId: instance.id,
    projectId: instance.projectId,
    tool: JSON.stringify(body.tool),
    arguments: JSON.stringify(body.arguments),
    timeout: body.timeout,
    agentReasoning: JSON.stringify(body.agent_reasoning),
    context: JSON.stringify(body.context),
    status: "pending",
    createdAt: now,
    deadlineAt: now + WINDOW_MS,
    decision: null,
    policy: null,
    server: null,
  };
}

export function openedEntry(request: StoredRequest): AuditEntry {
  return entryOf(request, "request.opened", request.createdAt);
}

export function resolvedEntry(request: StoredRequest, { decidedAt }: StoredDecision): AuditEntry {
  return entryOf(request, "request.resolved", decidedAt);
}

function entryOf(
  { id, projectId, instanceId, tool, arguments: args }: StoredRequest,
  kind: "request.opened" | "request.resolved",
  at: number,
): AuditEntry {
  return {
    at,
    projectId,
    kind,
    actor: `instance:${instanceId}`,
    subject: `request:${id}`,
    detail: { tool_sha256: sha256Hex(tool), arguments_sha256: sha256Hex(args) },
  };
}
