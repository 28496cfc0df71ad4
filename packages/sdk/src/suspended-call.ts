/**
 * Converts a submitted call to plain data that a program stores while it waits, and back.
 */

import type { ApprovalRequest, Submission } from "./answer.ts";
import { type ApprovalProvider, readKey, readSubmission } from "./approval-client.ts";
import { SdkError } from "./errors.ts";
import { type Pending, readPending } from "./result.ts";
import { type Snapshot, snapshotOfText } from "./snapshot.ts";

/** A submitted call with the data to verify the provider's answer. */
export interface Attempt<A extends object> {
  readonly idempotencyKey: string;
  readonly submission: Submission;
  readonly snapshot: Snapshot<A>;
  readonly signal: AbortSignal | undefined;
}

export function suspend<A extends object>(
  attempt: Attempt<A>,
  request: ApprovalRequest,
  url: string,
): Pending<A> {
  const { submission, snapshot: taken, idempotencyKey } = attempt;
  const { tool, timeout, agentReasoning, context, arguments: args } = submission;
  return Object.freeze({
    url,
    idempotencyKey,
    requestId: request.id,
    tool,
    argumentsJson: args.source,
    isExact: (taken.value as object) === taken.json,
    timeout,
    ...(agentReasoning !== undefined && { reasoning: agentReasoning }),
    ...(context !== undefined && { contextJson: context.source }),
    createdAt: request.createdAt,
    deadlineAt: request.deadlineAt,
  });
}

/** @throws SdkError `invalid_call` if `stored` is damaged or belongs to another provider */
export function revive<A extends object>(
  stored: Pending<A>,
  provider: ApprovalProvider,
  signal: AbortSignal | undefined,
): { readonly attempt: Attempt<A>; readonly before: ApprovalRequest } {
  const pending = readPending(stored);
  if (pending.url !== provider.url) {
    throw new SdkError("invalid_call", "This Pending belongs to another provider.");
  }
  const { tool, timeout, reasoning, contextJson, createdAt, deadlineAt } = pending;
  // The snapshot has the type of the submitted arguments, because the provider confirms its text.
  const taken = snapshotOfText(
    pending.argumentsJson,
    pending.isExact,
    "argumentsJson",
  ) as Snapshot<A>;
  const context =
    contextJson === undefined ? undefined : snapshotOfText(contextJson, true, "contextJson").json;
  const submission = readSubmission({ tool, timeout, reasoning, context, arguments: taken.json });
  const before = {
    ...submission,
    id: pending.requestId,
    status: "pending",
    createdAt,
    deadlineAt,
    decision: undefined,
  } as const;
  const idempotencyKey = readKey(pending.idempotencyKey);
  return { attempt: { idempotencyKey, submission, snapshot: taken, signal }, before };
}
