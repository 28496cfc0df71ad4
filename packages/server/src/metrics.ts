/** Prometheus metrics of the process. Labels have few, fixed values. */

import { CHANNEL_KINDS } from "@countersign/review-api";
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
  type RegistryContentType,
} from "prom-client";
import { SINK_KINDS, type SinkKind } from "./core/audit-stream.ts";
import { PUSH_CHANNEL } from "./core/push.ts";
import { DECIDER_KINDS } from "./core/request-filter.ts";
import type { PoolCounts } from "./storage/store.ts";
import type { MetricSnapshot } from "./telemetry-interface.ts";
import { VERSION } from "./version.ts";

/** Row counts of the store for a scrape. */
export interface StoreCounts {
  readonly deliveriesWaiting: number;
  readonly requestsPending: number;
  /** By sink; without a stream, the sink has none. */
  readonly auditStreamLagMs: Partial<Readonly<Record<SinkKind, number>>>;
}

export interface Gauges {
  readonly longPolls: () => number;
  /** Resolves to undefined when the store failed or exceeded the time limit. */
  readonly countStore: () => Promise<StoreCounts | undefined>;
  /** Undefined for SQLite, which has no pool. */
  readonly countPool: (() => PoolCounts) | undefined;
  /**
   * Time of the last complete backup, epoch ms. Undefined for PostgreSQL, which has its own tools.
   */
  readonly lastBackup: (() => number | undefined) | undefined;
}

/** An answer to a scrape. */
export interface Scrape {
  readonly contentType: string;
  readonly text: string;
}

/** An exchange, for its metrics. */
export interface MeasuredExchange {
  readonly operation: string;
  /** True for a read that waits for a decision. */
  readonly isLongPoll: boolean;
  readonly status: number;
  readonly seconds: number;
  /** The trace that the exchange belongs to; undefined without telemetry. */
  readonly traceId: string | undefined;
}

export interface WakeState {
  readonly isListening: boolean;
  /** Since the start. */
  readonly sent: number;
  readonly received: number;
}

/** The longest poll waits 30 s. Its answer follows a few milliseconds later. */
const DURATION_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 15, 30, 31];

/** Label values of `countersign_failures_total` that exist from the start. */
const DEPENDENCIES = [
  "announcing",
  "audit",
  "chat",
  "delivery",
  "escalation",
  "events",
  "examiner",
  "expiry",
  "freeze",
  "holding",
  "oidc",
  "oncall",
  "pushing",
  "retention",
  "schema",
  "search",
  "secret-key",
  "store",
  "streaming",
  "telemetry",
  "wake",
  "workload_identity",
];

const STATUSES = ["approved", "denied", "expired", "cancelled"];

const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/** Kinds of `SendOutcome`. */
const SEND_OUTCOMES = ["sent", "rejected", "refused", "unreachable", "off", "unwanted"];

/** Of them, those of a batch of audit entries. */
const STREAM_OUTCOMES = ["sent", "rejected", "refused", "unreachable"];

/**
 * Milliseconds between samples of the event loop. A sample measures the time between two timers, so
 * the reported lag includes this interval. The default of 10 ms wakes an idle process 100 times per
 * second.
 */
const EVENT_LOOP_SAMPLE_MS = 100;

/** Operations for load balancers and monitoring. */
const PROBES: ReadonlySet<string> = new Set(["healthz", "readyz", "metrics"]);

export function isProbe(operation: string): boolean {
  return PROBES.has(operation);
}

const NO_EXEMPLAR: { readonly [name: string]: string } = {};

function newRegistry<T extends RegistryContentType>(type: T): Registry<T> {
  const registry = new Registry<T>();
  registry.setContentType(type);
  return registry;
}

let ofProcess: Registry | undefined;

/**
 * Process metrics, such as memory and event loop lag. All providers of a process share them,
 * because each collector has a timer and a histogram that are never released.
 */
function metricsOfProcess(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({
      register: ofProcess,
      eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS,
    });
    addBuildInfo(ofProcess);
  }
  return ofProcess;
}

function addBuildInfo(registry: Registry): void {
  new Gauge({
    name: "countersign_build_info",
    help: "Always 1; the labels are the versions of Countersign and Node.js.",
    labelNames: ["version", "node"],
    registers: [registry],
  }).set({ version: VERSION, node: process.version }, 1);
}

export class Metrics {
  /** Of this type because prom-client accepts exemplars in no other. Scrapes select the format. */
  readonly registry = newRegistry(Registry.OPENMETRICS_CONTENT_TYPE);
  readonly exchanges = new Histogram({
    name: "countersign_exchange_seconds",
    help: "Duration of HTTP exchanges. pollApprovalRequest: a read with the parameter wait.",
    labelNames: ["operation", "status"],
    buckets: DURATION_BUCKETS_S,
    enableExemplars: true,
    registers: [this.registry],
  });
  readonly exchangesByClass = new Counter({
    name: "countersign_exchanges_total",
    help: "HTTP exchanges except probes, by class of the status code.",
    labelNames: ["class"],
    registers: [this.registry],
  });
  readonly created = new Counter({
    name: "countersign_requests_created_total",
    help: "Approval requests created by this process, without replays.",
    registers: [this.registry],
  });
  readonly failures = new Counter({
    name: "countersign_failures_total",
    help: "Failures of the database and of other dependencies.",
    labelNames: ["dependency"],
    registers: [this.registry],
  });
  readonly resolved = new Counter({
    name: "countersign_requests_resolved_total",
    help: "Approval requests that were resolved, by status and kind of decider.",
    labelNames: ["status", "by"],
    registers: [this.registry],
  });
  readonly attempts = new Histogram({
    name: "countersign_delivery_attempt_seconds",
    help: "Duration of attempts to deliver a notification, by outcome.",
    labelNames: ["outcome"],
    buckets: DURATION_BUCKETS_S,
    registers: [this.registry],
  });
  readonly verifications = new Histogram({
    name: "countersign_verification_seconds",
    help: "Duration of verifications of receivers, by outcome.",
    labelNames: ["outcome"],
    buckets: DURATION_BUCKETS_S,
    registers: [this.registry],
  });
  readonly announcements = new Counter({
    name: "countersign_announcements_total",
    help: "Messages to reviewers about pending requests, by kind of channel and outcome.",
    labelNames: ["kind", "outcome"],
    registers: [this.registry],
  });
  readonly sealed = new Counter({
    name: "countersign_audit_entries_sealed_total",
    help: "Audit entries sealed by this process.",
    registers: [this.registry],
  });
  readonly streamBatches = new Counter({
    name: "countersign_audit_stream_batches_total",
    help: "Attempts to send a batch of audit entries to a SIEM, by sink and outcome.",
    labelNames: ["sink", "outcome"],
    registers: [this.registry],
  });
  readonly streamEntries = new Counter({
    name: "countersign_audit_stream_entries_total",
    help: "Audit entries sent to a SIEM by this process, with repetitions.",
    labelNames: ["sink"],
    registers: [this.registry],
  });
  readonly integrityFailures = new Counter({
    name: "countersign_integrity_failures_total",
    help: "Altered or damaged rows. Each process counts a row once.",
    labelNames: ["table"],
    registers: [this.registry],
  });
  readonly purged = new Counter({
    name: "countersign_rows_erased_total",
    help: "Rows purged after their retention.",
    registers: [this.registry],
  });

  readonly #ofProcess = metricsOfProcess();
  #beforeText = async () => {};

  constructor() {
    this.#zeroAlertedSeries();
  }

  /**
   * All metrics. Waits for the store up to its time limit.
   *
   * @param withExemplars true: in the OpenMetrics format, which has exemplars
   */
  async text(withExemplars = false): Promise<Scrape> {
    await this.#beforeText();
    const registry = this.#all(
      withExemplars ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE,
    );
    return { contentType: registry.contentType, text: await registry.metrics() };
  }

  /** All metrics as data. Waits for the store up to its time limit. */
  async snapshot(): Promise<readonly MetricSnapshot[]> {
    await this.#beforeText();
    const metrics = await this.#all(Registry.PROMETHEUS_CONTENT_TYPE).getMetricsAsJSON();
    return metrics as unknown as readonly MetricSnapshot[];
  }

  /**
   * A registry of the same metrics. The OpenMetrics format of prom-client renames counters, so it
   * receives an object that inherits from the metric.
   */
  #all(type: RegistryContentType): Registry<RegistryContentType> {
    const all = newRegistry(type);
    for (const registry of [this.#ofProcess, this.registry]) {
      for (const metric of registry.getMetricsAsArray()) {
        all.registerMetric(Object.create(metric) as Metric);
      }
    }
    return all;
  }

  /** Counts an exchange. */
  exchangeEnded({ operation, isLongPoll, status, seconds, traceId }: MeasuredExchange): void {
    const measured = isLongPoll ? "pollApprovalRequest" : operation;
    this.exchanges.observe({
      labels: { operation: measured, status },
      value: seconds,
      exemplarLabels: traceId === undefined ? NO_EXEMPLAR : { trace_id: traceId },
    });
    if (isProbe(operation)) return;
    this.exchangesByClass.inc({ class: STATUS_CLASSES[Math.floor(status / 100) - 1] ?? "5xx" });
    if (operation === "createApprovalRequest" && status === 201) this.created.inc();
  }

  /**
   * Initializes series to 0. A series that first appears with its first event has no increase, so
   * no alert on it fires. deploy/prometheus/alerts.yaml uses these labels.
   */
  #zeroAlertedSeries(): void {
    for (const dependency of DEPENDENCIES) this.failures.inc({ dependency }, 0);
    for (const status of STATUSES) {
      for (const by of DECIDER_KINDS) this.resolved.inc({ status, by }, 0);
    }
    for (const kind of [...CHANNEL_KINDS, PUSH_CHANNEL]) {
      for (const outcome of SEND_OUTCOMES) this.announcements.inc({ kind, outcome }, 0);
    }
    for (const sink of SINK_KINDS) {
      this.streamEntries.inc({ sink }, 0);
      for (const outcome of STREAM_OUTCOMES) this.streamBatches.inc({ sink, outcome }, 0);
    }
    for (const name of STATUS_CLASSES.slice(1)) this.exchangesByClass.inc({ class: name }, 0);
    this.exchanges.zero({ operation: "createApprovalRequest", status: 201 });
  }

  /** Adds gauges that are computed at each scrape. */
  observe(gauges: Gauges): void {
    const registers = [this.registry];
    this.#observeStore(gauges.countStore);
    if (gauges.countPool !== undefined) this.#observePool(gauges.countPool);
    if (gauges.lastBackup !== undefined) this.#observeBackup(gauges.lastBackup);
    new Gauge({
      name: "countersign_polls_held",
      help: "Long polls that are waiting.",
      registers,
      collect() {
        this.set(gauges.longPolls());
      },
    });
  }

  /** Leaves out gauges that cannot be read: an old or invented number would mislead alerts. */
  #observeStore(countStore: Gauges["countStore"]): void {
    const registers = [this.registry];
    const deliveriesWaiting = new Gauge({
      name: "countersign_deliveries_waiting",
      help: "Notifications that are not delivered yet.",
      registers,
    });
    const requestsPending = new Gauge({
      name: "countersign_requests_pending",
      help: "Approval requests without a decision.",
      registers,
    });
    const auditStreamLag = new Gauge({
      name: "countersign_audit_stream_lag_seconds",
      help: "Time since the oldest audit entry was sealed that a SIEM lacks. 0: none, or off.",
      labelNames: ["sink"],
      registers,
    });
    const isRead = new Gauge({
      name: "countersign_store_scrape_success",
      help: "1 if this scrape counted the rows of the database. 0: their gauges are missing.",
      registers,
    });
    this.#beforeText = async () => {
      const counts = await countStore();
      isRead.set(counts === undefined ? 0 : 1);
      auditStreamLag.reset();
      if (counts === undefined) {
        deliveriesWaiting.remove();
        requestsPending.remove();
      } else {
        deliveriesWaiting.set(counts.deliveriesWaiting);
        requestsPending.set(counts.requestsPending);
        for (const sink of SINK_KINDS) {
          auditStreamLag.set({ sink }, (counts.auditStreamLagMs[sink] ?? 0) / 1000);
        }
      }
    };
  }

  #observePool(countPool: () => PoolCounts): void {
    new Gauge({
      name: "countersign_database_connections",
      help: "Connections to the database that are in use or idle, and callers that wait for one.",
      labelNames: ["state"],
      registers: [this.registry],
      collect() {
        for (const [state, count] of Object.entries(countPool())) this.set({ state }, count);
      },
    });
  }

  #observeBackup(lastBackup: () => number | undefined): void {
    new Gauge({
      name: "countersign_last_backup_timestamp_seconds",
      help: "Unix time of the last complete countersign backup; 0 without one. SQLite only.",
      registers: [this.registry],
      collect() {
        this.set((lastBackup() ?? 0) / 1000);
      },
    });
  }

  /** Adds counters of the messages between replicas. SQLite has none. */
  observeWake(wake: WakeState): void {
    const registers = [this.registry];
    new Gauge({
      name: "countersign_wake_listening",
      help: "1 if messages from other replicas arrive. 0: the server polls the database instead.",
      registers,
      collect() {
        this.set(wake.isListening ? 1 : 0);
      },
    });
    new Counter({
      name: "countersign_wake_notifications_sent_total",
      help: "Messages to other replicas. A message contains up to about 200 signals.",
      registers,
      collect() {
        this.reset();
        this.inc(wake.sent);
      },
    });
    new Counter({
      name: "countersign_wake_notifications_received_total",
      help: "Messages from other replicas.",
      registers,
      collect() {
        this.reset();
        this.inc(wake.received);
      },
    });
  }
}
