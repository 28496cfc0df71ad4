/** Spans with a parent in another process: the header `traceparent` (W3C Trace Context). */

import type { Attributes, SpanOptions, Tracing } from "@countersign/server/tracing";
import {
  type Context,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";

const KINDS: Readonly<Record<SpanOptions["kind"], SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
};

export function spanStarter(tracer: Tracer): Tracing["startSpan"] {
  return (name, { kind, parent, links = [], attributes, startedAt }) => {
    const options = {
      kind: KINDS[kind],
      links: links.flatMap(toLink),
      attributes: toAttributes(attributes),
      ...(startedAt !== undefined && { startTime: startedAt }),
    };
    const span = tracer.startSpan(name, options, contextOf(parent));
    const context = span.spanContext();
    return {
      traceId: context.traceId,
      isSampled: (context.traceFlags & TraceFlags.SAMPLED) !== 0,
      traceparent: writeTraceparent(context),
      end({ attributes: more = {}, failure, endedAt }) {
        span.setAttributes(toAttributes(more));
        if (failure !== undefined) {
          span.setAttribute("error.type", failure);
          span.setStatus({ code: SpanStatusCode.ERROR });
        }
        span.end(endedAt);
      },
    };
  };
}

function contextOf(traceparent: string | undefined): Context {
  const parent = readTraceparent(traceparent);
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
}

function toLink(traceparent: string): Link[] {
  const context = readTraceparent(traceparent);
  return context === undefined ? [] : [{ context }];
}

function readTraceparent(text: string | undefined): SpanContext | undefined {
  const parsed = text === undefined ? null : parseTraceParent(text);
  return parsed === null ? undefined : { ...parsed, isRemote: true };
}

/** @see https://www.w3.org/TR/trace-context/#traceparent-header */
function writeTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, "0");
  return `00-${traceId}-${spanId}-${flags}`;
}

type KnownAttributes = Record<string, string | number | boolean | string[]>;

function toAttributes(attributes: Attributes): KnownAttributes {
  const known: KnownAttributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    known[name] = typeof value === "object" ? [...value] : value;
  }
  return known;
}
