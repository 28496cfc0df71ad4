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

/** The same for each call. */
const POLICY_SHA256 = sha256Hex("policy");

export function openedEntry(request: StoredRequest): AuditEntry {
  const { projectId, instanceId, createdAt } = request;
  return {
    at: createdAt,
    projectId,
    kind: "request.opened",
    actor: `instance:${instanceId}`,
    subject: `request:${request.id}`,
    detail: openedDetail(request),
  };
}

export function resolvedEntry(request: StoredRequest, decision: StoredDecision): AuditEntry {
  const { projectId, instanceId } = request;
  const { decidedAt, decidedBy, status, expiresAt } = decision;
  const isAtOnce = decidedAt === request.createdAt;
  return {
    at: decidedAt,
    projectId,
    kind: "request.resolved",
    actor: decidedBy,
    subject: `request:${request.id}`,
    detail: {
      ...(isAtOnce && openedDetail(request)),
      status,
      tool_sha256: sha256Hex(request.tool),
      arguments_sha256: sha256Hex(request.arguments),
      deadline_at: request.deadlineAt,
      expires_at: expiresAt,
      note_sha256: null,
      opened_by: isAtOnce ? `instance:${instanceId}` : undefined,
    },
  };
}

function openedDetail({ tool, arguments: args, deadlineAt }: StoredRequest) {
  return {
    tool_sha256: sha256Hex(tool),
    arguments_sha256: sha256Hex(args),
    deadline_at: deadlineAt,
    because: "small-refunds",
    policy_version: 1,
    policy_sha256: POLICY_SHA256,
  };
}
