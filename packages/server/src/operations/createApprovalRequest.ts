import { type CreateApprovalRequestInput, Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import { isSameRequest } from "../core/replay.ts";
import { deadline, isOverdue, type StoredRequest } from "../core/request.ts";
import type { InstanceCaller } from "../identity/caller.ts";
import { hashRequestKey, sha256Hex } from "../secrets/keyring.ts";
import { lockInstance } from "../storage/sql/instances.ts";
import { insertRequest, lockRequestByKey } from "../storage/sql/requests.ts";
import type { Transaction } from "../storage/store.ts";
import { expireRequest } from "./expireRequest.ts";

export interface Submission {
  readonly outcome: "created" | "replayed";
  readonly request: StoredRequest;
}

/**
 * Records a proposed tool call as a pending request. The same key with the same input answers
 * the existing request in its current state and writes nothing.
 *
 * @throws Problem `invalid_credential` when the instance was deleted meanwhile,
 *   `idempotency_conflict` when the key was used with other input
 * @see contract: Endpoints, POST /v1/requests
 */
export async function createApprovalRequest(
  context: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  idempotencyKey: string,
): Promise<Submission> {
  const keyHash = hashRequestKey(caller.instanceId, idempotencyKey);
  const submission = await context.store.transact((tx) =>
    submit(tx, context, caller, input, keyHash),
  );
  const { outcome, request } = submission;
  if (outcome === "created") {
    const { id: requestId, deadlineAt } = request;
    context.wake.signal({ kind: "opened", requestId, deadlineAt });
    return submission;
  }
  if (!isOverdue(request, context.clock.now())) return submission;
  return { outcome, request: await expireRequest(context, request) };
}

async function submit(
  tx: Transaction,
  context: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  keyHash: string,
): Promise<Submission> {
  // Held until the commit: no request can slip in beside the deletion of its instance.
  const instance = await lockInstance(tx, "share", caller);
  if (instance === undefined || instance.deletedAt !== null) {
    throw new Problem("invalid_credential");
  }
  const request = open(context, caller, input, await tx.now());
  if (await insertRequest(tx, request, keyHash)) {
    await appendAudit(tx, context.random, {
      at: request.createdAt,
      projectId: request.projectId,
      kind: "request.opened",
      actor: `instance:${request.instanceId}`,
      subject: `request:${request.id}`,
      detail: { arguments_sha256: sha256Hex(request.arguments) },
    });
    return { outcome: "created", request };
  }
  const existing = await lockRequestByKey(tx, caller.projectId, keyHash);
  if (existing === undefined) throw new Error("a used key has no request");
  if (!isSameRequest(existing, input)) throw new Problem("idempotency_conflict");
  return { outcome: "replayed", request: existing };
}

function open(
  { random, settings }: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  now: number,
): StoredRequest {
  return {
    id: uuidV7(now, random.bytes(10)),
    instanceId: caller.instanceId,
    projectId: caller.projectId,
    tool: JSON.stringify(input.tool),
    arguments: input.arguments.source,
    timeout: input.timeout,
    agentReasoning:
      input.agentReasoning === undefined ? null : JSON.stringify(input.agentReasoning),
    context: input.context?.source ?? null,
    policy: null,
    status: "pending",
    createdAt: now,
    deadlineAt: deadline(now, input.timeoutMs, settings.windowMsMax),
    decision: null,
  };
}
