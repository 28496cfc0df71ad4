/**
 * The metrics of a Prometheus registry as OTLP metrics, so that both have the same instruments,
 * names and labels.
 *
 * @see https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
 */

import type { MetricSnapshot, MetricValue } from "@countersign/server/telemetry-interface";
import { type HrTime, ValueType } from "@opentelemetry/api";
import { hrTime, type InstrumentationScope } from "@opentelemetry/core";
import { emptyResource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricDescriptor,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";

export class RegistryProducer implements MetricProducer {
  readonly #scope: InstrumentationScope;
  readonly #read: () => Promise<readonly MetricSnapshot[]>;
  /** The counters of a process start at 0 with it. */
  readonly #startedAt = hrTime();

  constructor(scope: InstrumentationScope, read: () => Promise<readonly MetricSnapshot[]>) {
    this.#scope = scope;
    this.#read = read;
  }

  async collect(): Promise<CollectionResult> {
    const errors: unknown[] = [];
    const read = await this.#read().catch((error: unknown) => {
      errors.push(error);
      return [];
    });
    const times = { startTime: this.#startedAt, endTime: hrTime() };
    const metrics = read.flatMap((metric) => toMetricData(metric, times));
    const scopeMetrics = [{ scope: this.#scope, metrics }];
    // The reader replaces the resource.
    return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors };
  }
}

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

/** @returns nothing for a metric without values, and for a type that OTLP has no equivalent of */
function toMetricData(metric: MetricSnapshot, times: Times): MetricData[] {
  if (metric.values.length === 0) return [];
  const common = {
    descriptor: describe(metric),
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const points = () => metric.values.map((value) => toPoint(value.labels, value.value, times));
  switch (metric.type) {
    case "counter":
      return [
        { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points() },
      ];
    case "gauge":
      return [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints: points() }];
    case "histogram":
      return [
        {
          ...common,
          dataPointType: DataPointType.HISTOGRAM,
          dataPoints: toHistograms(metric, times),
        },
      ];
    default:
      return [];
  }
}

function describe({ name, help }: MetricSnapshot): MetricDescriptor {
  return { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE };
}

/** In UCUM, as OpenTelemetry requires. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return "s";
  if (/_bytes(_total)?$/.test(name)) return "By";
  return "";
}

function toPoint<T>(attributes: MetricValue["labels"], value: T, times: Times): DataPoint<T> {
  // Prometheus has no other label values than texts.
  const texts = Object.entries(attributes).map(([name, label]) => [name, String(label)]);
  return { attributes: Object.fromEntries(texts), value, ...times };
}

/** prom-client lists the series of one label set together: buckets, then sum and count. */
function toHistograms({ name, values }: MetricSnapshot, times: Times): DataPoint<Histogram>[] {
  const points: DataPoint<Histogram>[] = [];
  let boundaries: number[] = [];
  let cumulative: number[] = [];
  let sum = 0;
  for (const { metricName, labels, value } of values) {
    if (metricName === `${name}_bucket`) {
      const bound = Number(labels.le === "+Inf" ? Number.POSITIVE_INFINITY : labels.le);
      if (Number.isFinite(bound)) boundaries.push(bound);
      cumulative.push(value);
    } else if (metricName === `${name}_sum`) sum = value;
    else if (metricName === `${name}_count`) {
      // OTLP counts each bucket by itself; Prometheus counts all observations up to its bound.
      const counts = cumulative.map((count, i) => count - (cumulative[i - 1] ?? 0));
      const histogram = { buckets: { boundaries, counts }, sum, count: value };
      points.push(toPoint(labels, histogram, times));
      boundaries = [];
      cumulative = [];
    }
  }
  return points;
}
