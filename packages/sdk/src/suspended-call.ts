/**
 * Converts a submitted call to plain data that a program stores while it waits, and back.
 */

import type { ApprovalRequest, Submission } from "./answer.ts";
import { type Approvals, readKey, readSubmission } from "./client.ts";
import { SdkError } from "./errors.ts";
import { type Snapshot, snapshotOfText } from "./snapshot.ts";
import { type Pending, readPending, wordsFor } from "./verdict.ts";

/** A submitted call with the data to verify the provider's answer. */
export interface Attempt<A extends object> {
  readonly key: string;
  readonly submission: Submission;
  readonly snapshot: Snapshot<A>;
  readonly signal: AbortSignal | undefined;
}

export function suspend<A extends object>(
  attempt: Attempt<A>,
  request: ApprovalRequest,
  { isDevelopment, url }: Approvals,
): Pending {
  const { submission, snapshot: taken, key } = attempt;
  const { tool, timeout, agentReasoning, context, arguments: args } = submission;
  return Object.freeze({
    kind: "pending",
    permitted: false,
    reason: wordsFor("pending", isDevelopment),
    isDevelopment,
    url,
    key,
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
export function revive(
  stored: Pending,
  client: Approvals,
  signal: AbortSignal | undefined,
): { readonly attempt: Attempt<object>; readonly before: ApprovalRequest } {
  const pending = readPending(stored);
  if (pending.url !== client.url) {
    throw new SdkError("invalid_call", "This Pending belongs to another provider.");
  }
  const { tool, timeout, reasoning, contextJson, createdAt, deadlineAt } = pending;
  const taken = snapshotOfText(pending.argumentsJson, pending.isExact, "argumentsJson");
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
  return { attempt: { key: readKey(pending.key), submission, snapshot: taken, signal }, before };
}
