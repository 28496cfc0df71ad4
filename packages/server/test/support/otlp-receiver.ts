/** An OTLP receiver over HTTP in this process, for both encodings, and the spans it received. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { readExport } from "./otlp-message.ts";
import type { Lifetime } from "./test-provider.ts";

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string }[];
  readonly hasFailed: boolean;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit?: string;
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly NumberPoint[] };
  readonly gauge?: { readonly dataPoints: readonly NumberPoint[] };
  readonly histogram?: { readonly dataPoints: readonly HistogramPoint[] };
}

export interface NumberPoint {
  readonly asDouble: number;
  readonly attributes?: readonly KeyValue[];
}

export interface HistogramPoint {
  readonly count: string;
  readonly sum: number;
  readonly bucketCounts: readonly string[];
  readonly explicitBounds: readonly number[];
  readonly attributes?: readonly KeyValue[];
}

interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

interface AnyValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly AnyValue[] };
}

interface WireSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly KeyValue[];
  readonly links?: readonly { readonly traceId: string }[];
  readonly status?: { readonly code?: number };
}

interface Export {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics?: readonly { readonly metrics?: readonly ReceivedMetric[] }[];
  }[];
}

export class OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[] = [];
  /** Attributes of the resource of the latest spans. */
  resource: Readonly<Record<string, unknown>> = {};
  /** By name; the latest values. */
  readonly metrics = new Map<string, ReceivedMetric>();
  /** Number of exports, also those that failed. */
  exports = 0;
  /** Status of the answers. */
  status = 200;

  constructor(url: string) {
    this.url = url;
  }

  named(name: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  add({ resourceSpans = [], resourceMetrics = [] }: Export): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resource = toRecord(resource.attributes);
      this.spans.push(...scopeSpans.flatMap(({ spans }) => spans.map(toSpan)));
    }
    const scopes = resourceMetrics.flatMap(({ scopeMetrics = [] }) => scopeMetrics);
    for (const metric of scopes.flatMap(({ metrics = [] }) => metrics)) {
      this.metrics.set(metric.name, metric);
    }
  }
}

export async function startOtlpReceiver(t: Lifetime): Promise<OtlpReceiver> {
  const server = createServer(async (request, response) => {
    const bytes = await buffer(request);
    receiver.exports++;
    if (receiver.status === 200) {
      const isJson = request.headers["content-type"] === "application/json";
      const sent = isJson ? JSON.parse(bytes.toString()) : readExport(request.url ?? "", bytes);
      receiver.add(sent as Export);
    }
    response.writeHead(receiver.status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver = new OtlpReceiver(`http://127.0.0.1:${port}`);
  t.after(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return receiver;
}

function toSpan(span: WireSpan): ReceivedSpan {
  return {
    name: span.name,
    kind: span.kind,
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId || undefined,
    startedAt: Number(span.startTimeUnixNano) / 1e6,
    endedAt: Number(span.endTimeUnixNano) / 1e6,
    attributes: toRecord(span.attributes),
    links: span.links ?? [],
    hasFailed: span.status?.code === 2,
  };
}

export function toRecord(attributes: readonly KeyValue[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));
}

function toValue({ stringValue, boolValue, intValue, doubleValue, arrayValue }: AnyValue): unknown {
  if (intValue !== undefined) return Number(intValue);
  return (
    stringValue ??
    boolValue ??
    doubleValue ??
    arrayValue?.values?.map(toValue) ??
    (arrayValue && [])
  );
}
