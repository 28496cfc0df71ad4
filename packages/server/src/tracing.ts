/**
 * The interface of the server to distributed tracing. `Context.tracing` is undefined when telemetry
 * is off, so a call like `tracing?.startSpan(...)` then costs one comparison and creates nothing.
 * The package `@countersign/telemetry` implements the interface.
 */

/** Undefined values are left out. Never contains arguments, reasoning or notes. */
export type Attributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | undefined>
>;

export type SpanName =
  | "countersign.create"
  | "countersign.evaluate_policy"
  | "countersign.decide"
  | "countersign.deliver"
  | "countersign.notify";

export interface SpanOptions {
  readonly kind: "server" | "client" | "internal";
  /**
   * A `traceparent` header (W3C Trace Context). Undefined or invalid: the span starts a new trace.
   */
  readonly parent?: string | undefined;
  /** Each a `traceparent` of a span in another trace. */
  readonly links?: readonly string[] | undefined;
  readonly attributes: Attributes;
  /** Epoch ms. Default: now. */
  readonly startedAt?: number | undefined;
}

export interface SpanEnd {
  readonly attributes?: Attributes | undefined;
  /** A short reason with few values, such as an error code; undefined: no error. */
  readonly failure?: string | undefined;
  /** Epoch ms. Default: now. */
  readonly endedAt?: number | undefined;
}

/** A span that is not ended is not exported. */
export interface Span {
  readonly traceId: string;
  /** False: sampling selected this trace not to be exported. */
  readonly isSampled: boolean;
  /** For the spans of other processes under this one. */
  readonly traceparent: string;
  end(end: SpanEnd): void;
}

export interface Tracing {
  startSpan(name: SpanName, options: SpanOptions): Span;
}
