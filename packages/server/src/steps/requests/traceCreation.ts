/** The span of a submission, and of the evaluation of the policies under it. */

import { type CreateApprovalRequestInput, Problem } from "@countersign/protocol";
import { callAttributes } from "../../core/call-attributes.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import type { Judgement } from "../../policy/judgement.ts";
import type { Span, Tracing } from "../../tracing.ts";

/** The trace of a submission. Operations have none when telemetry is off. */
export interface CreationTrace {
  readonly tracing: Tracing;
  readonly span: Span;
}

interface Created {
  readonly outcome: string;
  readonly request: StoredRequest;
}

/**
 * Runs a submission in a span.
 *
 * @param parent the header `traceparent` of the caller; an invalid one is ignored
 */
export async function traceCreation<T extends Created>(
  tracing: Tracing,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  parent: string | undefined,
  create: (trace: CreationTrace) => Promise<T>,
): Promise<T & { readonly traceId: string | undefined }> {
  const { tool, server, context } = input;
  const { projectId, instanceId } = caller;
  const span = tracing.startSpan("countersign.create", {
    kind: "server",
    parent,
    attributes: callAttributes({ projectId, instanceId, tool, server, context }),
  });
  try {
    const created = await create({ tracing, span });
    span.end({
      attributes: {
        "countersign.request.id": created.request.id,
        "countersign.status": created.request.status,
        "countersign.outcome": created.outcome,
      },
    });
    return { ...created, traceId: span.isSampled ? span.traceId : undefined };
  } catch (error) {
    span.end({ failure: error instanceof Problem ? error.code : "internal" });
    throw error;
  }
}

/** The caller ends it with {@link endPolicySpan}, or drops it after an error. */
export function startPolicySpan({ tracing, span }: CreationTrace): Span {
  return tracing.startSpan("countersign.evaluate_policy", {
    kind: "internal",
    parent: span.traceparent,
    attributes: {},
  });
}

export function endPolicySpan(span: Span, { verb, because, fired, errors }: Judgement): void {
  const attributes = {
    "countersign.policy.verb": verb,
    "countersign.policy.because": because,
    "countersign.policy.rules": fired,
  };
  span.end({ attributes, failure: errors.length === 0 ? undefined : "policy_error" });
}
