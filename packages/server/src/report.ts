/**
 * Log lines and metrics of this process: each event has one function, which writes a log line and
 * counts a metric. Every exchange has one line. Never logs arguments, reasoning, context, tokens,
 * secrets or full URLs. Metric labels have few, fixed values.
 */

import type { TerminalStatus } from "@countersign/protocol";
import { type DestinationStream, type Logger, pino } from "pino";
import type { LogLevel } from "./config/settings.ts";
import type { LastAdminLoss } from "./context.ts";
import type { ActorKind } from "./core/actor.ts";
import type { SinkKind } from "./core/audit-stream.ts";
import type { Failure } from "./failure.ts";
import { type Gauges, isProbe, Metrics, type Scrape, type WakeState } from "./metrics.ts";
import { type LogOutput, openStandardOutput } from "./standard-output.ts";
import type { CheckedTable, IntegrityFailure } from "./storage/integrity.ts";
import type { MetricSnapshot } from "./telemetry-interface.ts";

export type { StoreCounts } from "./metrics.ts";

export interface ExchangeEnd {
  readonly exchangeId: string;
  /** Name of the operation, or `unknown`. */
  readonly operation: string;
  /** True for a read that waits for a decision. */
  readonly isLongPoll: boolean;
  readonly status: number;
  readonly durationMs: number;
  /** Undefined without trusted proxies, which set the address. */
  readonly clientAddress: string | undefined;
  readonly errorCode: string | undefined;
  readonly credentialId: string | undefined;
  /** Id of the request or instance of the exchange. */
  readonly subjectId: string | undefined;
  /** Undefined without telemetry, and for operations without a trace. */
  readonly traceId: string | undefined;
}

/** The result of one attempt to deliver a notification. */
export interface DeliveryAttempt {
  readonly eventId: string;
  readonly requestId: string;
  readonly instanceId: string;
  /** Undefined when the URL is no longer accepted. */
  readonly host: string | undefined;
  /** From 1. */
  readonly attempt: number;
  readonly outcome: string;
  /** HTTP status; null without an answer. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly retryInMs: number | undefined;
  readonly endedBy: string | undefined;
}

/** The result of a verification of a receiver. */
export interface VerificationAttempt {
  readonly instanceId: string;
  readonly registrationId: string;
  readonly host: string;
  readonly outcome: string;
  /** HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

/** The result of one message to a channel or browser. */
export interface Announced {
  readonly channelId: string;
  readonly kind: string;
  /** Undefined for a digest and for a test message. */
  readonly requestId: string | undefined;
  /** Number of requests in the message. */
  readonly count: number;
  readonly outcome: string;
  /** HTTP or SMTP status; null without an answer. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly retryInMs: number | undefined;
}

/** The result of one attempt to send audit entries to a SIEM. */
export interface AuditStreamed {
  readonly sink: SinkKind;
  readonly projectId: string;
  readonly entries: number;
  readonly outcome: string;
  readonly isSent: boolean;
  /** HTTP status; null without an answer. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly retryInMs: number | undefined;
}

/** Initialized to 0, so that an alert sees the first failure as an increase. */
const CHECKED_TABLES: Readonly<Record<CheckedTable, true>> = {
  request: true,
  audit_entry: true,
  policy_version: true,
  policy_proposal: true,
};

/** @see https://github.com/prometheus/OpenMetrics */
const OPENMETRICS = "application/openmetrics-text";

export class Report {
  readonly #metrics = new Metrics();
  readonly #log: Logger;
  #hasExemplars = false;
  readonly #output: LogOutput;
  /** Sinks of the audit stream with a failure since the last success. */
  readonly #failingSinks = new Set<SinkKind>();

  /** @param stream destination of the lines; standard output when undefined */
  constructor(level: LogLevel, stream?: DestinationStream) {
    for (const table of Object.keys(CHECKED_TABLES)) {
      this.#metrics.integrityFailures.inc({ table }, 0);
    }
    this.#output = stream === undefined ? openStandardOutput() : unbuffered(stream);
    const formatters = { level: (label: string) => ({ level: label }) };
    this.#log = pino({ level, base: null, formatters }, this.#output.stream);
  }

  /** Adds gauges that are computed at each scrape. */
  observe(gauges: Gauges): void {
    this.#metrics.observe(gauges);
  }

  /** Adds counters of the messages between replicas. SQLite has none. */
  observeWake(wake: WakeState): void {
    this.#metrics.observeWake(wake);
  }

  exchangeEnded(end: ExchangeEnd): void {
    const { operation, status, isLongPoll, traceId } = end;
    const seconds = end.durationMs / 1000;
    this.#metrics.exchangeEnded({ operation, isLongPoll, status, seconds, traceId });
    // Probes arrive every few seconds. They would fill the log of an idle server.
    const level = isProbe(operation) && status < 500 ? "debug" : "info";
    this.#log[level]({
      event: "exchange.ended",
      request_id: end.exchangeId,
      operation,
      http_status: status,
      duration_ms: Math.round(end.durationMs * 1000) / 1000,
      client_address: end.clientAddress,
      error_code: end.errorCode,
      credential_id: end.credentialId,
      subject_id: end.subjectId,
      trace_id: traceId,
    });
  }

  deliveryAttempted(attempt: DeliveryAttempt): void {
    const { outcome, durationMs } = attempt;
    this.#metrics.attempts.observe({ outcome }, durationMs / 1000);
    this.#log.info({
      event: "delivery.attempted",
      event_id: attempt.eventId,
      subject_id: attempt.requestId,
      instance_id: attempt.instanceId,
      host: attempt.host,
      attempt: attempt.attempt,
      outcome,
      http_status: attempt.status ?? undefined,
      duration_ms: durationMs,
      retry_in_ms: attempt.retryInMs,
      ended_by: attempt.endedBy,
    });
  }

  verificationAttempted(attempt: VerificationAttempt): void {
    const { outcome, durationMs } = attempt;
    this.#metrics.verifications.observe({ outcome }, durationMs / 1000);
    this.#log.info({
      event: "verification.attempted",
      instance_id: attempt.instanceId,
      registration_id: attempt.registrationId,
      host: attempt.host,
      outcome,
      http_status: attempt.status,
      duration_ms: durationMs,
    });
  }

  announced(message: Announced): void {
    const { channelId, requestId, status, durationMs, retryInMs, ...rest } = message;
    // Removes the reason after the colon, because label values are a closed set. The log has it.
    const [outcome = ""] = rest.outcome.split(":", 1);
    this.#metrics.announcements.inc({ kind: rest.kind, outcome });
    this.#log.info({
      event: "announcement.sent",
      channel_id: channelId,
      subject_id: requestId,
      ...rest,
      status: status ?? undefined,
      duration_ms: durationMs,
      retry_in_ms: retryInMs,
    });
  }

  /** Logs the first failure and the first success after it: a retry follows each failure. */
  auditStreamed(attempt: AuditStreamed): void {
    const { sink, projectId, entries, outcome, isSent, status } = attempt;
    const [kind = ""] = outcome.split(":", 1);
    this.#metrics.streamBatches.inc({ sink, outcome: kind });
    if (isSent) this.#metrics.streamEntries.inc({ sink }, entries);
    const about = { sink, project_id: projectId, outcome, http_status: status || undefined };
    if (!isSent && !this.#failingSinks.has(sink)) {
      this.#failingSinks.add(sink);
      const retry = { duration_ms: attempt.durationMs, retry_in_ms: attempt.retryInMs };
      this.#log.warn({ event: "audit_stream.failed", ...about, ...retry });
    }
    if (isSent && this.#failingSinks.delete(sink)) {
      this.#log.info({ event: "audit_stream.recovered", ...about, count: entries });
    }
  }

  /**
   * Writes complete lines to standard output, between lines of the log.
   *
   * @throws when they were not written
   */
  print(text: string): Promise<void> {
    return this.#output.print(text);
  }

  requestResolved(status: TerminalStatus, by: ActorKind): void {
    this.#metrics.resolved.inc({ status, by });
  }

  dependencyFailed(dependency: string, error: unknown, exchangeId?: string): void {
    this.#metrics.failures.inc({ dependency });
    const about = { dependency, request_id: exchangeId };
    this.#log.error({ event: "dependency.failed", ...about, error: describe(error) });
  }

  /** A stored row was altered outside the server, or is damaged. */
  integrityFailed({ table, projectId, id }: IntegrityFailure): void {
    this.#metrics.integrityFailures.inc({ table });
    this.#log.error({ event: "integrity.failed", table, project_id: projectId, subject_id: id });
  }

  /** An invalid response of the identity provider. The user receives a shorter reason. */
  signInRefused(reason: string): void {
    this.#log.warn({ event: "sign_in.refused", reason });
  }

  /** The identity provider ended its session of a user. */
  providerLoggedOut(sessions: number): void {
    this.#log.info({ event: "provider_logout.applied", sessions });
  }

  lastAdminLost({ projectId, projectName, reviewerId, actor }: LastAdminLoss): void {
    this.#log.warn({
      event: "project.last_admin_lost",
      project_id: projectId,
      project: projectName,
      subject_id: reviewerId,
      actor,
    });
  }

  /** Someone sent an invalid logout token. */
  providerLogoutRefused(reason: string): void {
    this.#log.warn({ event: "provider_logout.refused", reason });
  }

  /** A token of a workload that the server did not exchange. The client receives the reason. */
  exchangeRefused(error: string, reason: string, exchangeId: string): void {
    this.#log.warn({ event: "workload.refused", request_id: exchangeId, error, reason });
  }

  /** A defect of this program: a failed assertion or an unexpected exception. */
  bugFound(error: unknown, exchangeId?: string): void {
    const stack = error instanceof Error ? error.stack : undefined;
    this.#log.error({
      event: "bug.found",
      request_id: exchangeId,
      error: describe(error),
      stack,
    });
  }

  wakeListening(): void {
    this.#log.info({ event: "wake.listening" });
  }

  /** Called once for each outage. Polls still find all changes, but later. */
  wakeLost(error: Error): void {
    this.#metrics.failures.inc({ dependency: "wake" });
    this.#log.warn({ event: "wake.lost", error: describe(error) });
  }

  requestsExpired(count: number): void {
    this.#log.info({ event: "requests.expired", count });
  }

  /** Requests that a freeze denied after the exchange that created it. */
  requestsFrozen(count: number): void {
    this.#log.info({ event: "requests.frozen", count });
  }

  rowsPurged(count: number): void {
    this.#metrics.purged.inc(count);
    this.#log.info({ event: "rows.erased", count });
  }

  entriesSealed(count: number): void {
    this.#metrics.sealed.inc(count);
  }

  /** Audit entries that were committed long after their timestamp. */
  lateEntriesSealed(projectId: string, count: number): void {
    this.#metrics.sealed.inc(count);
    this.#log.info({ event: "audit.late_entries_sealed", project_id: projectId, count });
  }

  /** @param schemaKnown the schema of this program */
  started(address: string, schemaVersion: number, schemaKnown: number): void {
    this.#log.info({ event: "server.started", address, schema_version: schemaVersion });
    if (schemaVersion > schemaKnown) this.schemaChanged(schemaVersion, schemaKnown);
  }

  /** No account exists yet. The setup link is a secret, so the log has the command instead. */
  setupNeeded(): void {
    this.#log.info({ event: "setup.needed", command: "countersign people setup-link" });
  }

  /** The database has a newer, compatible schema. */
  schemaChanged(schemaVersion: number, schemaKnown: number): void {
    const versions = { schema_version: schemaVersion, schema_known: schemaKnown };
    this.#log.info({ event: "schema.newer", ...versions });
  }

  /** The schema is no longer compatible with this program. */
  schemaOutgrown(reason: Failure): void {
    this.#log.error({ event: "schema.outgrown", error: reason.message });
  }

  /** @param counts from reencryptSecrets; nothing is logged when both are 0 */
  secretsReencrypted(keyId: string, counts: { reencrypted: number; undecryptable: number }): void {
    const { reencrypted, undecryptable } = counts;
    if (reencrypted === 0 && undecryptable === 0) return;
    const level = undecryptable === 0 ? "info" : "warn";
    this.#log[level]({
      event: "secrets.resealed",
      key_id: keyId,
      count: reencrypted,
      unopened: undecryptable,
    });
  }

  stopping(): void {
    this.#log.info({ event: "server.stopping" });
  }

  /** Resolves when the log is flushed or cannot be written. */
  async stopped(): Promise<void> {
    this.#log.info({ event: "server.stopped" });
    await this.#output.flush();
  }

  /** Called once for each outage. The server continues, and drops spans beyond a limit. */
  telemetryLost(error: Error): void {
    this.#metrics.failures.inc({ dependency: "telemetry" });
    this.#log.warn({ event: "telemetry.lost", error: describe(error) });
  }

  telemetryRestored(): void {
    this.#log.info({ event: "telemetry.restored" });
  }

  /** From now on, scrapes that accept OpenMetrics receive it, with exemplars. */
  exposeExemplars(): void {
    this.#hasExemplars = true;
  }

  /**
   * All metrics as text.
   *
   * @param accept the header `Accept` of the scrape
   */
  metrics(accept = ""): Promise<Scrape> {
    return this.#metrics.text(this.#hasExemplars && accept.includes(OPENMETRICS));
  }

  /** All metrics as data, for exporters. */
  readMetrics(): Promise<readonly MetricSnapshot[]> {
    return this.#metrics.snapshot();
  }
}

function unbuffered(stream: DestinationStream): LogOutput {
  return {
    stream,
    flush: async () => {},
    print: async (text) => void stream.write(text),
  };
}

/** The messages of the error and its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `: ${describe(error.cause)}`;
  return error.message + cause;
}
