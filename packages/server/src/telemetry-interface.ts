/** The interface between a server and the optional package `@countersign/telemetry`. */

import type { Tracing } from "./tracing.ts";

/** A metric with its current values, in the form of `Registry.getMetricsAsJSON` of prom-client. */
export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** Name of a series of a histogram, such as `x_bucket`; absent for other metrics. */
  readonly metricName?: string;
}

/** The parts of a server that its telemetry uses. */
export interface TelemetryOptions {
  /** Version of the server. */
  readonly version: string;
  readonly readMetrics: () => Promise<readonly MetricSnapshot[]>;
  /** Called after the first failed export of an outage. */
  readonly onLost: (error: Error) => void;
  /** Called after the first successful export that follows an outage. */
  readonly onRestored: () => void;
}

export interface Telemetry extends Tracing {
  /** Exports what waits. Resolves also when that fails; the exporters limit its time. */
  close(): Promise<void>;
}

/** The exports of the package. */
export interface TelemetryModule {
  startTelemetry(options: TelemetryOptions): Telemetry;
}
