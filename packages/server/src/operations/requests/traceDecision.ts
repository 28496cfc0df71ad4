import type { Context } from "../../context.ts";
import { requestAttributes } from "../../core/call-attributes.ts";
import { readJudgement } from "../../policy/judgement.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import { readTraceparents } from "../../storage/sql/requests/traces.ts";

/**
 * Records the span of a decision, in the trace of its request. It starts when the request was
 * created, so its duration is the time until the decision. Does nothing without telemetry.
 */
export async function traceDecision({ tracing, store }: Context, key: RowKey): Promise<void> {
  if (tracing === undefined) return;
  const [request, [parent]] = await Promise.all([
    readRequest(store, key),
    readTraceparents(store, key.projectId, [key.id]),
  ]);
  const decision = request?.decision;
  if (request === undefined || decision == null) return;
  const { because, fired } = readJudgement(request.policy);
  const span = tracing.startSpan("countersign.decide", {
    kind: "internal",
    parent,
    startedAt: request.createdAt,
    attributes: {
      ...requestAttributes(request),
      "countersign.decision": decision.status,
      "countersign.decided_by": decision.decidedBy,
      "countersign.policy.because": because,
      "countersign.policy.rules": fired,
    },
  });
  span.end({ endedAt: decision.decidedAt });
}
