import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { isClosed, type ResolvableRequest } from "../../core/request.ts";
import {
  type Judgement,
  nextEscalationAt,
  readJudgement,
  scheduleEscalations,
  writeJudgement,
} from "../../policy/judgement.ts";
import { updateEscalation } from "../../storage/sql/requests/escalations.ts";
import type { Transaction } from "../../storage/store.ts";
import { announceEscalation } from "../channels/announceRequest.ts";
import { findActiveState } from "../policy/findActiveState.ts";

/**
 * Applies the due steps of the escalation of a request: their groups may decide too, and the
 * channels of the groups announce it. Every step has an audit entry. A request at or after its
 * deadline stays unchanged.
 *
 * @param request as `lockForResolution` of this transaction returned it; the clock is read after it
 * @returns false when no step is due
 */
export async function escalateRequest(
  tx: Transaction,
  context: Pick<Context, "activeStates" | "random" | "wake">,
  request: ResolvableRequest,
): Promise<boolean> {
  const now = await tx.now();
  if (request.decision !== null || isClosed(request, now)) return false;
  const judgement = readJudgement(request.policy);
  const due = scheduleEscalations(judgement, request).filter(
    ({ dueAt, doneAt }) => doneAt === undefined && dueAt <= now,
  );
  if (due.length === 0) return false;
  const done = judgement.escalatedAt ?? [];
  const escalated: Judgement = { ...judgement, escalatedAt: [...done, ...due.map(() => now)] };
  const { id: requestId, projectId } = request;
  await updateEscalation(tx, {
    request: { ...request, policy: writeJudgement(escalated) },
    escalatesAt: nextEscalationAt(escalated, request),
  });
  for (const [index, { to, afterMs }] of due.entries()) {
    await appendAudit(tx, context.random, {
      at: now,
      projectId,
      kind: "request.escalated",
      actor: "system:escalation",
      subject: `request:${requestId}`,
      detail: { step: done.length + index + 1, to, after_ms: afterMs },
    });
  }
  const active = await findActiveState(tx, context, request);
  const steps = due.map(({ to }, index) => ({ number: done.length + index + 1, to }));
  const announces = await announceEscalation(tx, context, request, { steps, now }, active);
  const signal = { kind: "escalated", projectId, requestId, announces } as const;
  tx.onCommit(() => context.wake.signal(signal));
  return true;
}
