/**
 * What is counted and measured of the process, for Prometheus. Labels are few and fixed.
 *
 * Called by: report.ts, which alone counts.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export interface Gauges {
  readonly deliveriesWaiting: () => Promise<number>;
  readonly pollsHeld: () => number;
  readonly requestsPending: () => Promise<number>;
}

export interface WakeState {
  readonly isListening: boolean;
  /** Since the start. */
  readonly sent: number;
  readonly received: number;
}

const DURATION_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30];

let ofProcess: Registry | undefined;

/**
 * Memory, event loop and the like, measured once however many providers a process has: what
 * measures them has a timer and a histogram of its own, and never ends.
 */
function metricsOfProcess(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

export class Metrics {
  readonly registry = new Registry();
  readonly exchanges = new Histogram({
    name: "countersign_exchange_seconds",
    help: "Duration of HTTP exchanges, held polls included.",
    labelNames: ["operation", "status"],
    buckets: DURATION_BUCKETS_S,
    registers: [this.registry],
  });
  readonly failures = new Counter({
    name: "countersign_failures_total",
    help: "Failures of what the provider depends on.",
    labelNames: ["dependency"],
    registers: [this.registry],
  });
  readonly resolved = new Counter({
    name: "countersign_requests_resolved_total",
    help: "Approval requests that reached a decision, by its status and who or what decided.",
    labelNames: ["status", "by"],
    registers: [this.registry],
  });
  readonly attempts = new Histogram({
    name: "countersign_delivery_attempt_seconds",
    help: "Duration of attempts to deliver a notification, by how they ended.",
    labelNames: ["outcome"],
    buckets: DURATION_BUCKETS_S,
    registers: [this.registry],
  });
  readonly verifications = new Histogram({
    name: "countersign_verification_seconds",
    help: "Duration of verifications of receivers, by how they ended.",
    labelNames: ["outcome"],
    buckets: DURATION_BUCKETS_S,
    registers: [this.registry],
  });
  readonly announcements = new Counter({
    name: "countersign_announcements_total",
    help: "Messages to people about what waits for them, by kind of channel and how they ended.",
    labelNames: ["kind", "outcome"],
    registers: [this.registry],
  });
  readonly sealed = new Counter({
    name: "countersign_audit_entries_sealed_total",
    help: "Entries of the audit log that were sealed by this process.",
    registers: [this.registry],
  });
  readonly integrityFailures = new Counter({
    name: "countersign_integrity_failures_total",
    help: "Stored rows that are not what a server wrote, each counted once by each process.",
    labelNames: ["table"],
    registers: [this.registry],
  });
  readonly erased = new Counter({
    name: "countersign_rows_erased_total",
    help: "Rows erased after their retention.",
    registers: [this.registry],
  });

  readonly #ofProcess = metricsOfProcess();

  /** All of them, in the format of Prometheus. */
  async text(): Promise<string> {
    return await Registry.merge([this.#ofProcess, this.registry]).metrics();
  }

  /** Adds what is read when metrics are asked for. */
  observe(gauges: Gauges): void {
    const registers = [this.registry];
    new Gauge({
      name: "countersign_polls_held",
      help: "Long polls that are being held.",
      registers,
      collect() {
        this.set(gauges.pollsHeld());
      },
    });
    new Gauge({
      name: "countersign_deliveries_waiting",
      help: "Notifications that are not delivered yet.",
      registers,
      async collect() {
        this.set(await gauges.deliveriesWaiting());
      },
    });
    new Gauge({
      name: "countersign_requests_pending",
      help: "Approval requests without a decision.",
      registers,
      async collect() {
        this.set(await gauges.requestsPending());
      },
    });
  }

  /** Adds what is read of the notifications between replicas; there are none on SQLite. */
  observeWake(wake: WakeState): void {
    const registers = [this.registry];
    new Gauge({
      name: "countersign_wake_listening",
      help: "Whether notifications of other replicas arrive: 1, or 0 and polls wait for a look.",
      registers,
      collect() {
        this.set(wake.isListening ? 1 : 0);
      },
    });
    new Counter({
      name: "countersign_wake_notifications_sent_total",
      help: "Notifications to other replicas, each of up to some 200 signals.",
      registers,
      collect() {
        this.reset();
        this.inc(wake.sent);
      },
    });
    new Counter({
      name: "countersign_wake_notifications_received_total",
      help: "Notifications of other replicas.",
      registers,
      collect() {
        this.reset();
        this.inc(wake.received);
      },
    });
  }
}
