/**
 * Sends the spans and metrics of a server to an OpenTelemetry collector by OTLP over HTTP, with the
 * official SDK. The standard variables configure it, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.
 *
 * Promises: spans wait in a bounded queue, and a collector that fails costs only their loss.
 *
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */

import type { Telemetry, TelemetryOptions } from "@countersign/server/telemetry-interface";
import { getNumberFromEnv } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { observeExports } from "./observe-exports.ts";
import { RegistryProducer } from "./registry-producer.ts";
import { spanStarter } from "./spans.ts";

const NAME = "countersign";

const METRICS_INTERVAL_MS = 60_000;
const METRICS_TIMEOUT_MS = 30_000;

/** Starts to export. Connects with the first batch, so it succeeds without a collector. */
export function startTelemetry(options: TelemetryOptions): Telemetry {
  const { version } = options;
  const resource = describeService(version);
  const observe = observeExports(options);
  const tracers = new BasicTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(observe(new OTLPTraceExporter()))],
  });
  const intervalMs = getNumberFromEnv("OTEL_METRIC_EXPORT_INTERVAL") ?? METRICS_INTERVAL_MS;
  const timeoutMs = getNumberFromEnv("OTEL_METRIC_EXPORT_TIMEOUT") ?? METRICS_TIMEOUT_MS;
  const reader = new PeriodicExportingMetricReader({
    exporter: observe(new OTLPMetricExporter()),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(timeoutMs, intervalMs),
    metricProducers: [new RegistryProducer({ name: NAME, version }, options.readMetrics)],
  });
  // It has no instruments of its own. The reader needs it for the resource.
  const meters = new MeterProvider({ resource, readers: [reader] });
  return {
    startSpan: spanStarter(tracers.getTracer(NAME, version)),
    async close() {
      await Promise.allSettled([tracers.shutdown(), meters.shutdown()]);
    },
  };
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override the names of this program. */
function describeService(version: string): Resource {
  return defaultResource()
    .merge(resourceFromAttributes({ "service.name": NAME, "service.version": version }))
    .merge(detectResources({ detectors: [envDetector] }));
}
