/**
 * The trace that a call belongs to, as a header (W3C Trace Context).
 *
 * Applications with OpenTelemetry register its API in one global symbol, so that all versions 1.x
 * of the API in a process share it. This file reads the symbol instead of importing the API: an
 * application without OpenTelemetry then needs nothing, also in a bundle. Only `traceparent` is
 * read, because `baggage` may contain data of users.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */

interface OpenTelemetryApi {
  readonly context?: { active(): object };
  readonly propagation?: {
    inject(context: object, carrier: object, setter: { set: Setter }): void;
  };
}

type Setter = (carrier: object, name: string, value: string) => void;

const API = Symbol.for("opentelemetry.js.api.1");

const HEADER = "traceparent";

const VERSION_00 = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** @returns undefined for an invalid text, so that a foreign text fails no call */
export function validTraceparent(text: unknown): string | undefined {
  return typeof text === "string" && VERSION_00.test(text) ? text : undefined;
}

/** The active span of the application; undefined without one, or without OpenTelemetry. */
export function activeTraceparent(): string | undefined {
  const api = (globalThis as { readonly [API]?: OpenTelemetryApi })[API];
  if (api?.context === undefined || api.propagation === undefined) return undefined;
  let found: string | undefined;
  const set: Setter = (_, name, value) => {
    if (name === HEADER) found = value;
  };
  try {
    api.propagation.inject(api.context.active(), {}, { set });
  } catch {
    // A broken instrumentation must not fail a call.
  }
  return validTraceparent(found);
}
