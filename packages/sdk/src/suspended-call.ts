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
  /** Used to submit the call; a suspended call is submitted already. */
  readonly traceparent?: string | undefined;
}

export function suspend<A extends object>(
  attempt: Attempt<A>,
  request: ApprovalRequest,
  url: string,
): Pending<A> {
  const { submission, idempotencyKey } = attempt;
  const { tool, server, timeout, agentReasoning, context, arguments: args } = submission;
  return Object.freeze({
    url,
    idempotencyKey,
    requestId: request.id,
    tool,
    ...(server !== undefined && { server }),
    argumentsJson: args.source,
    timeout,
    ...(agentReasoning !== undefined && { reasoning: agentReasoning }),
    ...(context !== undefined && { contextJson: context.source }),
    createdAt: request.createdAt,
    deadlineAt: request.deadlineAt,
  });
}

/** How a suspended call continues. */
export interface ReviveOptions {
  /** True: the arguments are a JsonObject. */
  readonly exact?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** @throws SdkError `invalid_call` if `stored` is damaged or belongs to another provider */
export function revive<A extends object>(
  stored: Pending<A>,
  provider: ApprovalProvider,
  { exact = false, signal }: ReviveOptions,
): { readonly attempt: Attempt<A>; readonly before: ApprovalRequest } {
  const pending = readPending(stored);
  if (pending.url !== provider.url) {
    throw new SdkError("invalid_call", "This Pending belongs to another provider.");
  }
  const { tool, server, timeout, reasoning, contextJson, createdAt, deadlineAt } = pending;
  // The provider confirms the text. A number that a double cannot represent becomes a JsonNumber.
  const taken = snapshotOfText(pending.argumentsJson, exact, "argumentsJson") as Snapshot<A>;
  const context =
    contextJson === undefined ? undefined : snapshotOfText(contextJson, true, "contextJson").json;
  const submission = readSubmission({
    tool,
    server,
    timeout,
    reasoning,
    context,
    arguments: taken.json,
  });
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
