import { type CreateApprovalRequestInput, Problem, uuidV7 } from "@countersign/protocol";
import {
  type AuditEntry,
  appendAudit,
  type RecordedRequirement,
} from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import { freezeDecision } from "../../core/freeze.ts";
import type { StoredInstance } from "../../core/instance.ts";
import { isSameRequest } from "../../core/replay.ts";
import {
  deadline,
  type IntendedDecision,
  isOverdue,
  type StoredRequest,
} from "../../core/request.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import {
  isCertain,
  type Judgement,
  nextEscalationAt,
  requirementOf,
  writeJudgement,
} from "../../policy/judgement.ts";
import { type ToolName, writeToolName } from "../../policy/tool-names.ts";
import { hashRequestKey } from "../../secrets/keyring.ts";
import { announceRequest } from "../../steps/channels/announceRequest.ts";
import { refundCall, useGrant } from "../../steps/grants/useGrant.ts";
import { cachePolicy, PolicyNotLoaded } from "../../steps/policy/cachePolicy.ts";
import { countHistory } from "../../steps/policy/countHistory.ts";
import {
  cacheActiveState,
  cachedActiveState,
  findActiveState,
} from "../../steps/policy/findActiveState.ts";
import { expireRequest } from "../../steps/requests/expireRequest.ts";
import { type Judged, judgeCall, neededHistory } from "../../steps/requests/judgeCall.ts";
import { DeadlinePassed, openResolved } from "../../steps/requests/resolveRequest.ts";
import {
  type CreationTrace,
  endPolicySpan,
  startPolicySpan,
  traceCreation,
} from "../../steps/requests/traceCreation.ts";
import { findFreeze } from "../../storage/sql/freezes/freezes.ts";
import { lockInstance } from "../../storage/sql/instances/instances.ts";
import type { ActiveState } from "../../storage/sql/policy/active-state.ts";
import { insertRequest, lockRequestByKey } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";
import type { Signal } from "../../wake/wake.ts";

export interface Submission {
  readonly outcome: "created" | "replayed";
  readonly request: StoredRequest;
  /** Undefined when telemetry is off, and for a trace that is not exported. */
  readonly traceId?: string | undefined;
}

/**
 * Stores a proposed tool call and evaluates the policies. A decision by policy is recorded in the
 * same transaction; otherwise the request is pending for reviewers. The same key with the same
 * input returns the existing request and writes nothing.
 *
 * @param traceparent the trace context of the caller, as the header has it; not a part of the input
 * @throws Problem `invalid_credential` when the instance was deleted meanwhile,
 * `idempotency_conflict` when the key was used with other input, `rate_limited` when the
 * provisioning account exceeds its rate over all instances
 * @see contract: Endpoints, POST /v1/requests
 */
export async function createApprovalRequest(
  context: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  idempotencyKey: string,
  traceparent?: string,
): Promise<Submission> {
  const { tracing } = context;
  if (tracing === undefined) return create(context, caller, input, idempotencyKey, undefined);
  return traceCreation(tracing, caller, input, traceparent, (trace) =>
    create(context, caller, input, idempotencyKey, trace),
  );
}

async function create(
  context: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  idempotencyKey: string,
  trace: CreationTrace | undefined,
): Promise<Submission> {
  const keyHash = hashRequestKey(caller.instanceId, idempotencyKey);
  let isCharged = false;
  // Once for each exchange, also when the transaction is repeated.
  const charge = (provisionerId: string) => {
    if (!isCharged) context.submissions.takeOrRefuse(provisionerId);
    isCharged = true;
  };
  const attempt = (mode: SubmitMode) => {
    const work = (tx: Transaction) => submit(tx, context, caller, input, keyHash, mode, charge);
    if (mode.holdsInstanceLock) return context.store.transact(work);
    return context.store.transactBatched(`key:${keyHash}`, work);
  };
  const { outcome, request } = await submitWithRetries(context, caller, input, trace, attempt);
  if (outcome === "created" || !isOverdue(request, context.clock.now())) {
    return { outcome, request };
  }
  return { outcome, request: await expireRequest(context, request) };
}

/** Options of one attempt to submit. */
interface SubmitMode {
  /** False after an approval could not be written before the deadline. */
  readonly mayApprove: boolean;
  /**
   * True when the transaction locks the instance against other submissions. A policy that counts
   * earlier calls needs that: two concurrent calls would not count each other.
   */
  readonly holdsInstanceLock: boolean;
  readonly trace: CreationTrace | undefined;
}

/** The active policy counts calls, and the transaction did not lock the instance. */
class NeedsInstanceLock extends Error {}

/** Submits, and retries after it has removed the cause of a failed attempt. */
async function submitWithRetries(
  context: Context,
  caller: InstanceCaller,
  tool: ToolName,
  trace: CreationTrace | undefined,
  attempt: (mode: SubmitMode) => Promise<Submission>,
): Promise<Submission> {
  let mode: SubmitMode = {
    mayApprove: true,
    holdsInstanceLock: probablyCounts(context, caller, tool),
    trace,
  };
  for (;;) {
    try {
      return await attempt(mode);
    } catch (error) {
      if (error instanceof PolicyNotLoaded) await cachePolicy(context, error);
      else if (error instanceof NeedsInstanceLock) mode = { ...mode, holdsInstanceLock: true };
      // Writing an approval took longer than the window, so let it expire.
      else if (error instanceof DeadlinePassed && mode.mayApprove) {
        mode = { ...mode, mayApprove: false };
      } else throw error;
    }
  }
}

function probablyCounts(context: Context, caller: InstanceCaller, tool: ToolName): boolean {
  const active = cachedActiveState(context, caller);
  if (active === undefined) return false;
  try {
    return neededHistory(context, caller.projectId, active, tool).length > 0;
  } catch (error) {
    if (error instanceof PolicyNotLoaded) return false;
    throw error;
  }
}

async function submit(
  tx: Transaction,
  context: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  keyHash: string,
  { mayApprove, holdsInstanceLock, trace }: SubmitMode,
  charge: (provisionerId: string) => void,
): Promise<Submission> {
  // Locked until the commit, so no request is created during the deletion of its instance. All
  // three are sent together and executed in this order.
  const [instance, now, active] = await Promise.all([
    lockInstance(tx, holdsInstanceLock ? "update" : "share", caller),
    tx.now(),
    findActiveState(tx, context, caller),
  ]);
  if (instance === undefined || instance.deletedAt !== null) {
    throw new Problem("invalid_credential");
  }
  charge(instance.provisionerId);
  tx.onCommit(() => cacheActiveState(context, caller, active));
  const queries = neededHistory(context, caller.projectId, active, input);
  if (queries.length > 0 && !holdsInstanceLock) throw new NeedsInstanceLock();
  const history =
    queries.length === 0
      ? undefined
      : await countHistory(tx, context, { ...caller, name: input, at: now }, queries);
  const policySpan = trace && startPolicySpan(trace);
  const judged = judgeCall(context, instance, active, input, now, history);
  const { judgement } = judged;
  if (policySpan !== undefined) endPolicySpan(policySpan, judgement);
  const atOnce = { tx, context, instance, active, mayApprove };
  const { ending, grantId } = await answerAtOnce(atOnce, judged);
  const request = newRequest(context, caller, input, judgement, now, trace);
  const opened = openedEntry(request, judgement);
  if (ending !== undefined) {
    const resolvable = { ...request, isInstanceDeleted: instance.deletedAt !== null };
    const decision = await openResolved(tx, context, resolvable, keyHash, ending, opened);
    if (decision === undefined) {
      if (grantId !== undefined) await refundCall(tx, { ...caller, id: grantId });
      return replay(tx, caller, input, keyHash);
    }
    return { outcome: "created", request: { ...request, status: decision.status, decision } };
  }
  const escalatesAt = nextEscalationAt(judgement, request);
  if (!(await insertRequest(tx, request, keyHash, escalatesAt))) {
    return replay(tx, caller, input, keyHash);
  }
  await appendAudit(tx, context.random, opened);
  const announces = await announceRequest(tx, context, request, requirementOf(judgement), active);
  const { id: requestId, projectId, deadlineAt } = request;
  const signal: Signal = {
    kind: "opened",
    requestId,
    projectId,
    deadlineAt,
    escalatesAt: escalatesAt ?? undefined,
    announces,
  };
  tx.onCommit(() => context.wake.signal(signal));
  return { outcome: "created", request };
}

interface AtOnce {
  readonly tx: Transaction;
  readonly context: Context;
  readonly instance: StoredInstance;
  readonly active: ActiveState;
  /** False after an approval could not be written before the deadline. */
  readonly mayApprove: boolean;
}

/** An immediate decision: by a freeze before policy, or by a grant instead of reviewers. */
async function answerAtOnce(
  { tx, context, instance, active, mayApprove }: AtOnce,
  { call, judgement, ending }: Judged,
): Promise<{ readonly ending: IntendedDecision | undefined; readonly grantId?: string }> {
  const { id: instanceId, projectId } = instance;
  const freeze = active.isFrozen ? await findFreeze(tx, { projectId, instanceId }) : undefined;
  if (freeze !== undefined) return { ending: freezeDecision(freeze) };
  if (!mayApprove && ending?.status !== "denied") return { ending: undefined };
  if (ending !== undefined || !active.hasGrants) return { ending };
  const { validityMs = Number.POSITIVE_INFINITY } = judgement;
  const grant = await useGrant(tx, {
    instance,
    call,
    requirement: requirementOf(judgement),
    now: call.now,
    isCertain: isCertain(judgement),
  });
  if (grant === undefined) return { ending };
  const { validityMsDefault, validityMsMin, validityMsMax } = context.settings;
  const wantedMs = Math.min(grant.validityMs ?? validityMsDefault, validityMs, validityMsMax);
  return {
    ending: {
      status: "approved",
      by: `grant:${grant.id}`,
      note: grant.note === null ? null : JSON.stringify(grant.note),
      validityMs: Math.max(wantedMs, validityMsMin),
    },
    grantId: grant.id,
  };
}

async function replay(
  tx: Transaction,
  { projectId }: InstanceCaller,
  input: CreateApprovalRequestInput,
  keyHash: string,
): Promise<Submission> {
  const existing = await lockRequestByKey(tx, projectId, keyHash);
  if (existing === undefined) throw new Error("a used key has no request");
  if (!isSameRequest(existing, input)) throw new Problem("idempotency_conflict");
  return { outcome: "replayed", request: existing };
}

function openedEntry(request: StoredRequest, judgement: Judgement): AuditEntry {
  const { because, project, floor } = judgement;
  return {
    at: request.createdAt,
    projectId: request.projectId,
    kind: "request.opened",
    actor: `instance:${request.instanceId}`,
    subject: `request:${request.id}`,
    detail: {
      tool_sha256: sha256Hex(request.tool),
      server_sha256: request.server === null ? undefined : sha256Hex(request.server),
      arguments_sha256: sha256Hex(request.arguments),
      deadline_at: request.deadlineAt,
      because,
      policy_version: project?.number,
      policy_sha256: project?.sha256,
      floor_version: floor?.number,
      floor_sha256: floor?.sha256,
      requirement: recordRequirement(judgement),
    },
  };
}

/**
 * Without the text to type, which depends on the call; undefined when policy required no review.
 */
function recordRequirement(judgement: Judgement): RecordedRequirement | undefined {
  if (judgement.requirement === undefined) return undefined;
  const requirement = requirementOf(judgement);
  const { confirm, quorum, from, quorums, excludeOwner, noteRequired, grants, bots } = requirement;
  const { channels, escalate } = requirement;
  return {
    confirm: confirm.kind,
    quorum,
    from,
    quorums,
    exclude_owner: excludeOwner,
    note: noteRequired,
    grants,
    bots,
    channels,
    escalate: escalate?.map(({ afterMs, to, widens }) => ({ after_ms: afterMs, to, widens })),
  };
}

function newRequest(
  { random, settings }: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  judgement: Judgement,
  now: number,
  trace: CreationTrace | undefined,
): StoredRequest {
  const { withinMs } = requirementOf(judgement);
  const timeoutMs = Math.min(input.timeoutMs, withinMs ?? Number.POSITIVE_INFINITY);
  return {
    id: uuidV7(now, random.bytes(10)),
    instanceId: caller.instanceId,
    projectId: caller.projectId,
    ...writeToolName(input),
    arguments: input.arguments.source,
    timeout: input.timeout,
    agentReasoning:
      input.agentReasoning === undefined ? null : JSON.stringify(input.agentReasoning),
    context: input.context?.source ?? null,
    policy: writeJudgement(judgement),
    traceparent: trace?.span.traceparent,
    status: "pending",
    createdAt: now,
    deadlineAt: deadline(now, timeoutMs, settings.windowMsMax),
    decision: null,
  };
}
