import { type CreateApprovalRequestInput, Problem, uuidV7 } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import { endingOf } from "../core/freeze.ts";
import { isSameRequest } from "../core/replay.ts";
import { deadline, isOverdue, type StoredRequest } from "../core/request.ts";
import type { InstanceCaller } from "../identity/caller.ts";
import { type Judgement, requirementOf, writeJudgement } from "../policy/judgement.ts";
import { hashRequestKey, sha256Hex } from "../secrets/keyring.ts";
import { readInForce } from "../storage/sql/in-force.ts";
import { lockInstance } from "../storage/sql/instances.ts";
import { insertRequest, lockRequestByKey } from "../storage/sql/requests.ts";
import { findFreeze } from "../storage/sql/standing-freezes.ts";
import type { Transaction } from "../storage/store.ts";
import type { Signal } from "../wake/wake.ts";
import { expireRequest } from "./expireRequest.ts";
import { judgeCall } from "./judgeCall.ts";
import { DeadlinePassed, openResolved } from "./resolveRequest.ts";

export interface Submission {
  readonly outcome: "created" | "replayed";
  readonly request: StoredRequest;
}

/** A submission, with what to tell others after the commit. */
interface Submitted extends Submission {
  readonly signal: Signal | undefined;
}

/**
 * Records a proposed tool call and asks policy about it. What policy decides is decided in the
 * same transaction; anything else waits as a pending request for people. The same key with the
 * same input answers the existing request in its current state and writes nothing.
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
  const attempt = (decidesAtOnce: boolean) =>
    context.store.transact((tx) => submit(tx, context, caller, input, keyHash, decidesAtOnce));
  const { outcome, request, signal } = await attempt(true).catch((error: unknown) => {
    if (!(error instanceof DeadlinePassed)) throw error;
    // The window was shorter than the writing of an approval: let it pass.
    return attempt(false);
  });
  if (signal !== undefined) context.wake.signal(signal);
  if (outcome === "created" || !isOverdue(request, context.clock.now())) {
    return { outcome, request };
  }
  return { outcome, request: await expireRequest(context, request) };
}

async function submit(
  tx: Transaction,
  context: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  keyHash: string,
  decidesAtOnce: boolean,
): Promise<Submitted> {
  // Held until the commit: no request can slip in beside the deletion of its instance. All three
  // are sent at once and answered one after another.
  const [instance, now, inForce] = await Promise.all([
    lockInstance(tx, "share", caller),
    tx.now(),
    readInForce(tx, caller),
  ]);
  if (instance === undefined || instance.deletedAt !== null) {
    throw new Problem("invalid_credential");
  }
  const { judgement, ...judged } = await judgeCall(tx, context, instance, inForce, input, now);
  const freeze = inForce.isFrozen ? await findFreeze(tx, caller) : undefined;
  const ending = freeze === undefined ? judged.ending : endingOf(freeze);
  const request = open(context, caller, input, judgement, now);
  const opened = openedEntry(request, judgement);
  if (ending !== undefined && decidesAtOnce) {
    const { notifyingEpoch } = inForce;
    const ended = await openResolved(tx, context, request, keyHash, ending, opened, notifyingEpoch);
    if (ended === undefined) return replay(tx, caller, input, keyHash);
    const { decision, signal } = ended;
    return {
      outcome: "created",
      request: { ...request, status: decision.status, decision },
      signal,
    };
  }
  if (!(await insertRequest(tx, request, keyHash))) return replay(tx, caller, input, keyHash);
  await appendAudit(tx, context.random, opened);
  const { id: requestId, deadlineAt } = request;
  return { outcome: "created", request, signal: { kind: "opened", requestId, deadlineAt } };
}

async function replay(
  tx: Transaction,
  { projectId }: InstanceCaller,
  input: CreateApprovalRequestInput,
  keyHash: string,
): Promise<Submitted> {
  const existing = await lockRequestByKey(tx, projectId, keyHash);
  if (existing === undefined) throw new Error("a used key has no request");
  if (!isSameRequest(existing, input)) throw new Problem("idempotency_conflict");
  return { outcome: "replayed", request: existing, signal: undefined };
}

function openedEntry(request: StoredRequest, judgement: Judgement): AuditEntry {
  return {
    at: request.createdAt,
    projectId: request.projectId,
    kind: "request.opened",
    actor: `instance:${request.instanceId}`,
    subject: `request:${request.id}`,
    detail: { arguments_sha256: sha256Hex(request.arguments), ...versionsOf(judgement) },
  };
}

/** Which policies judged it, for the audit log. */
function versionsOf({ project, floor }: Judgement): Readonly<Record<string, string>> {
  return {
    ...(project !== null && { policy_sha256: project.sha256 }),
    ...(floor !== null && { floor_sha256: floor.sha256 }),
  };
}

function open(
  { random, settings }: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  judgement: Judgement,
  now: number,
): StoredRequest {
  const { withinMs } = requirementOf(judgement);
  const timeoutMs = Math.min(input.timeoutMs, withinMs ?? Number.POSITIVE_INFINITY);
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
    policy: writeJudgement(judgement),
    status: "pending",
    createdAt: now,
    deadlineAt: deadline(now, timeoutMs, settings.windowMsMax),
    decision: null,
  };
}
