/** Spans of attempts, in the traces of the requests that a message is about. */

import type { Context } from "../context.ts";
import { readTraceparents } from "../storage/sql/requests/traces.ts";
import type { Attributes, Span, SpanName, Tracing } from "../tracing.ts";

/** The requests of a message. */
export interface Subject {
  readonly projectId: string;
  readonly requestIds: readonly string[];
}

/** Limits the links of a span, as the default of the SDK does. */
const LINKS_MAX = 128;

/**
 * Starts the span of an attempt. The span of a message about one request belongs to the trace of
 * the request. A message about several requests has a trace of its own with links to theirs.
 *
 * @param name `countersign.deliver` or `countersign.notify`
 */
export async function startAttemptSpan(
  tracing: Tracing,
  { store }: Pick<Context, "store">,
  name: SpanName,
  { projectId, requestIds }: Subject,
  attributes: Attributes,
): Promise<Span> {
  const ids = requestIds.slice(0, LINKS_MAX);
  // A failed query must not fail the attempt.
  const found = await readTraceparents(store, projectId, ids).catch(() => []);
  const isOne = requestIds.length === 1;
  return tracing.startSpan(name, {
    kind: "client",
    parent: isOne ? found[0] : undefined,
    links: isOne ? [] : found,
    attributes: {
      "countersign.project.id": projectId,
      "countersign.request.id": isOne ? requestIds[0] : undefined,
      ...attributes,
    },
  });
}

/** The result of an attempt that was made. */
export interface AttemptResult {
  /** Such as `acknowledged` or `unreachable:connect`. */
  readonly outcome: string;
  readonly hasFailed: boolean;
  /** Null without an answer. */
  readonly status: number | null;
}

export function endAttemptSpan(span: Span, { outcome, hasFailed, status }: AttemptResult): void {
  const attributes = {
    "countersign.outcome": outcome,
    "http.response.status_code": status ?? undefined,
  };
  span.end({ attributes, failure: hasFailed ? outcome : undefined });
}
