import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { isClosed, type ResolvableRequest } from "../../core/request.ts";
import { scheduleOf } from "../../policy/escalation.ts";
import {
  isUnreached,
  type Judgement,
  nextEscalationAt,
  readJudgement,
  scheduleEscalations,
  writeJudgement,
} from "../../policy/judgement.ts";
import { postponeEscalation, updateEscalation } from "../../storage/sql/requests/escalations.ts";
import type { Transaction } from "../../storage/store.ts";
import { announceEscalation } from "../channels/announceRequest.ts";
import { readOnCall } from "../oncall/readOnCall.ts";
import { findActiveState } from "../policy/findActiveState.ts";

/**
 * Applies the due steps of the escalation of a request: their groups may decide too, or the
 * reviewers who are on call, and channels announce it. Every step has an audit entry. A step to a
 * schedule that reached no reviewer is repeated after a minute. A request at or after its deadline
 * stays unchanged.
 *
 * @param request as `lockForResolution` of this transaction returned it; the clock is read after it
 * @returns false when no step is due
 */
export async function escalateRequest(
  tx: Transaction,
  context: Pick<Context, "activeStates" | "random" | "wake" | "keyring">,
  request: ResolvableRequest,
): Promise<boolean> {
  const now = await tx.now();
  if (request.decision !== null || isClosed(request, now)) return false;
  const judgement = readJudgement(request.policy);
  const applied = await applySteps(tx, context, request, judgement, now);
  if (applied.length === 0) return false;
  const escalated = withSteps(judgement, applied, now);
  const { id: requestId, projectId } = request;
  await updateEscalation(tx, {
    request: { ...request, policy: writeJudgement(escalated) },
    escalatesAt: nextEscalationAt(escalated, request, now),
  });
  for (const { number, to, afterMs, onCall, problem } of applied) {
    await appendAudit(tx, context.random, {
      at: now,
      projectId,
      kind: "request.escalated",
      actor: "system:escalation",
      subject: `request:${requestId}`,
      detail: { step: number, to, after_ms: afterMs, on_call: onCall, problem },
    });
  }
  const active = await findActiveState(tx, context, request);
  const steps = applied.filter(({ onCall }) => onCall === undefined || onCall.length > 0);
  const announces = await announceEscalation(tx, context, request, { steps, now }, active);
  const signal = { kind: "escalated", projectId, requestId, announces } as const;
  tx.onCommit(() => context.wake.signal(signal));
  return true;
}

interface AppliedStep {
  /** Of the steps of the request, from 1. */
  readonly number: number;
  readonly to: string;
  readonly afterMs: number;
  /** The reviewers who are on call, as "reviewer:x"; undefined for a step to a group. */
  readonly onCall: readonly string[] | undefined;
  /** Why no reviewer is on call. */
  readonly problem: string | undefined;
}

/** The steps that are due, and earlier steps to a schedule that reach a reviewer now. */
async function applySteps(
  tx: Transaction,
  context: Pick<Context, "keyring">,
  request: ResolvableRequest,
  judgement: Judgement,
  now: number,
): Promise<AppliedStep[]> {
  const applied: AppliedStep[] = [];
  for (const [index, step] of scheduleEscalations(judgement, request).entries()) {
    const { to, afterMs, doneAt, dueAt } = step;
    const isDue = doneAt === undefined && dueAt <= now;
    if (!isDue && !isUnreached(step)) continue;
    const schedule = scheduleOf(step);
    const one = { number: index + 1, to, afterMs };
    if (schedule === undefined) {
      applied.push({ ...one, onCall: undefined, problem: undefined });
      continue;
    }
    const found = await readOnCall(tx, context, request.projectId, schedule, now);
    const names = found.people.flatMap(({ reviewer }) => reviewer ?? []);
    const onCall = names.map((name) => `reviewer:${name}`);
    const reason = found.problem ?? (found.people.length === 0 ? "no_shift" : "unknown_people");
    const problem = onCall.length === 0 ? reason : undefined;
    if (isDue || onCall.length > 0) applied.push({ ...one, onCall, problem });
  }
  if (applied.length > 0 || !scheduleEscalations(judgement, request).some(isUnreached)) {
    return applied;
  }
  await postponeEscalation(tx, request, nextEscalationAt(judgement, request, now));
  return applied;
}

function withSteps(judgement: Judgement, applied: readonly AppliedStep[], now: number): Judgement {
  const escalatedAt = [...(judgement.escalatedAt ?? [])];
  const onCall = [...(judgement.onCall ?? [])];
  for (const { number, onCall: reviewers } of applied) {
    escalatedAt[number - 1] = now;
    if (reviewers !== undefined) onCall[number - 1] = reviewers;
  }
  if (onCall.length === 0) return { ...judgement, escalatedAt };
  return { ...judgement, escalatedAt, onCall: Array.from(onCall, (each) => each ?? null) };
}
