/**
 * Log lines and metrics of this process: one function for each event, each a log line and a
 * metric. One wide line for every exchange. Never arguments, reasoning, context, tokens,
 * secrets or full URLs; metric labels are few and fixed.
 */

import type { TerminalStatus } from "@countersign/protocol";
import { type DestinationStream, destination, type Logger, pino } from "pino";
import type { LogLevel } from "./config/settings.ts";
import type { ActorKind } from "./core/actor.ts";
import type { Failure } from "./failure.ts";
import { type Gauges, isProbe, Metrics, type WakeState } from "./metrics.ts";
import type { CheckedTable, IntegrityFailure } from "./storage/integrity.ts";

export type { StoreCounts } from "./metrics.ts";

export interface ExchangeEnd {
  readonly exchangeId: string;
  /** Name of the operation, or `unknown`. */
  readonly operation: string;
  /** Whether it is a read that waits for a decision. */
  readonly isLongPoll: boolean;
  readonly status: number;
  readonly durationMs: number;
  /** Undefined without trusted proxies, because only they know it. */
  readonly clientAddress: string | undefined;
  readonly errorCode: string | undefined;
  readonly credentialId: string | undefined;
  /** Id of the request or instance that the exchange was about. */
  readonly subjectId: string | undefined;
}

/** How one attempt to deliver a notification ended. */
export interface DeliveryAttempt {
  readonly eventId: string;
  readonly requestId: string;
  readonly instanceId: string;
  /** Undefined when the URL is not acceptable any more. */
  readonly host: string | undefined;
  /** From 1. */
  readonly attempt: number;
  readonly outcome: string;
  /** HTTP status, if there was an answer. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly retryInMs: number | undefined;
  readonly endedBy: string | undefined;
}

/** How a verification of a receiver ended. */
export interface VerificationAttempt {
  readonly instanceId: string;
  readonly registrationId: string;
  readonly host: string;
  readonly outcome: string;
  /** Of the answer, if there was one. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

/** How one message to people ended. */
export interface Announced {
  readonly channelId: string;
  readonly kind: string;
  /** Undefined for a message about several requests, and for a test. */
  readonly requestId: string | undefined;
  /** Number of requests in the message. */
  readonly count: number;
  readonly outcome: string;
  /** Of HTTP or SMTP, if there was an answer. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly retryInMs: number | undefined;
}

/** Lines are written in blocks; this is the longest that one waits. */
const LOG_FLUSH_MS = 250;
const LOG_BLOCK_BYTES = 8_192;
/** Buffer size; then lines are dropped: a log that cannot be written must not stop the server. */
const LOG_BACKLOG_BYTES_MAX = 4 * 1024 * 1024;

/** Counted from 0 on, so that an alert sees the first failure as an increase. */
const CHECKED_TABLES: Readonly<Record<CheckedTable, true>> = {
  request: true,
  audit_entry: true,
  policy_version: true,
  policy_proposal: true,
};

export class Report {
  readonly #metrics = new Metrics();
  readonly #log: Logger;
  readonly #flush: () => Promise<void>;

  /** @param stream where lines go; standard output when undefined */
  constructor(level: LogLevel, stream?: DestinationStream) {
    for (const table of Object.keys(CHECKED_TABLES))
      this.#metrics.integrityFailures.inc({ table }, 0);
    const log = stream === undefined ? standardOutput() : undefined;
    const output = stream ?? log?.stream ?? { write: () => {} };
    this.#flush = async () => log?.flush();
    const formatters = { level: (label: string) => ({ level: label }) };
    this.#log = pino({ level, base: null, formatters }, output);
  }

  /** Adds gauges that are read at each scrape. */
  observe(gauges: Gauges): void {
    this.#metrics.observe(gauges);
  }

  /** Adds what is read of the notifications between replicas; there are none on SQLite. */
  observeWake(wake: WakeState): void {
    this.#metrics.observeWake(wake);
  }

  exchangeEnded(end: ExchangeEnd): void {
    const { operation, status } = end;
    this.#metrics.exchangeEnded(operation, end.isLongPoll, status, end.durationMs / 1000);
    // Probes come every few seconds and would be most of the log of a quiet server.
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
    // Without the reason behind the colon, which is in the log: label values are a closed set.
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

  requestResolved(status: TerminalStatus, by: ActorKind): void {
    this.#metrics.resolved.inc({ status, by });
  }

  dependencyFailed(dependency: string, error: unknown, exchangeId?: string): void {
    this.#metrics.failures.inc({ dependency });
    const about = { dependency, request_id: exchangeId };
    this.#log.error({ event: "dependency.failed", ...about, error: describe(error) });
  }

  /** A stored row is not what a server wrote: the database was changed or is damaged. */
  integrityFailed({ table, projectId, id }: IntegrityFailure): void {
    this.#metrics.integrityFailures.inc({ table });
    this.#log.error({ event: "integrity.failed", table, project_id: projectId, subject_id: id });
  }

  /** An invalid response of the identity provider; the user sees a shorter reason. */
  signInRefused(reason: string): void {
    this.#log.warn({ event: "sign_in.refused", reason });
  }

  /** A defect of ours: a failed assertion or an unexpected exception. */
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

  /** Once for each outage: nothing is lost by it but time. */
  wakeLost(error: Error): void {
    this.#metrics.failures.inc({ dependency: "wake" });
    this.#log.warn({ event: "wake.lost", error: describe(error) });
  }

  requestsExpired(count: number): void {
    this.#log.info({ event: "requests.expired", count });
  }

  /** Denied by a freeze after the exchange that froze. */
  requestsFrozen(count: number): void {
    this.#log.info({ event: "requests.frozen", count });
  }

  rowsErased(count: number): void {
    this.#metrics.erased.inc(count);
    this.#log.info({ event: "rows.erased", count });
  }

  entriesSealed(count: number): void {
    this.#metrics.sealed.inc(count);
  }

  /** Entries of the audit log that were committed long after the time in them. */
  lateEntriesSealed(projectId: string, count: number): void {
    this.#metrics.sealed.inc(count);
    this.#log.info({ event: "audit.late_entries_sealed", project_id: projectId, count });
  }

  /** @param schemaKnown the schema that this program knows */
  started(address: string, schemaVersion: number, schemaKnown: number): void {
    this.#log.info({ event: "server.started", address, schema_version: schemaVersion });
    if (schemaVersion > schemaKnown) this.schemaChanged(schemaVersion, schemaKnown);
  }

  /** No account exists yet. The setup link is a secret, so the log names the command for it. */
  setupNeeded(): void {
    this.#log.info({ event: "setup.needed", command: "countersign people setup-link" });
  }

  /** The database has a newer schema than this program, which is still compatible. */
  schemaChanged(schemaVersion: number, schemaKnown: number): void {
    const versions = { schema_version: schemaVersion, schema_known: schemaKnown };
    this.#log.info({ event: "schema.newer", ...versions });
  }

  /** The schema is not compatible with this program any more. */
  schemaOutgrown(reason: Failure): void {
    this.#log.error({ event: "schema.outgrown", error: reason.message });
  }

  /** @param counts as in reencryptSecrets; a start without a rotation says nothing */
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

  /** Resolves when the log is written or cannot be written. */
  async stopped(): Promise<void> {
    this.#log.info({ event: "server.stopped" });
    await this.#flush();
  }

  get metricsContentType(): string {
    return this.#metrics.registry.contentType;
  }

  metrics(): Promise<string> {
    return this.#metrics.text();
  }
}

/**
 * Standard output, written in blocks. A synchronous flush retries forever on a full disk or a
 * closed pipe, so `flush` is asynchronous, and after the first error nothing flushes synchronously.
 */
function standardOutput(): { stream: DestinationStream; flush: () => Promise<void> } {
  const stream = destination({
    dest: 1,
    sync: false,
    minLength: LOG_BLOCK_BYTES,
    maxLength: LOG_BACKLOG_BYTES_MAX,
    periodicFlush: LOG_FLUSH_MS,
  });
  const flushSync = stream.flushSync.bind(stream);
  let broken = false;
  stream.on("error", () => {
    broken = true;
  });
  // pino calls this when the process exits.
  stream.flushSync = () => {
    if (!broken) flushSync();
  };
  // The callback also receives the error of a failed write: the lines are lost, the stop goes on.
  return { stream, flush: () => new Promise((resolve) => stream.flush(() => resolve())) };
}

/** Messages of errors with the chain of their causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `: ${describe(error.cause)}`;
  return error.message + cause;
}
