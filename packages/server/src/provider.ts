/** The composition root: creates all parts and connects them. */

import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { systemClock } from "./clock.ts";
import { publicUrlOf } from "./config/public-url.ts";
import type { SecretSettings, Settings } from "./config/settings.ts";
import type { Context } from "./context.ts";
import { createAuditSinks } from "./delivery/create-audit-sinks.ts";
import { createDelivery } from "./delivery/create-delivery.ts";
import { createOutbound } from "./egress/outbound.ts";
import type { Failure } from "./failure.ts";
import { observe } from "./gauges.ts";
import { abortHttpServer } from "./http/abort-http-server.ts";
import { addAgentRoutes } from "./http/agent-routes.ts";
import { createGate } from "./http/authenticate.ts";
import { addAuthzenRoutes } from "./http/authzen-routes.ts";
import { addChatRoutes } from "./http/chat-routes.ts";
import { addContractRoutes } from "./http/contract-routes.ts";
import { createHttpServer } from "./http/create-http-server.ts";
import { addHookRoutes } from "./http/hook-routes.ts";
import { addOperationalRoutes, type OperationalState } from "./http/operational-routes.ts";
import { addProviderLogoutRoutes } from "./http/provider-logout-routes.ts";
import { addScimRoutes } from "./http/scim-routes.ts";
import { addTokenRoutes } from "./http/token-routes.ts";
import { createNotifier } from "./notify/create-notifier.ts";
import { OpenidProvider } from "./oidc/openid-provider.ts";
import { WorkloadTokens } from "./oidc/workload-tokens.ts";
import {
  isShared,
  makeDataDirectory,
  type OpenedContext,
  open,
  type Parts,
} from "./open-context.ts";
import { traceDecision } from "./operations/requests/traceDecision.ts";
import { needsSetup } from "./operations/sign-in/makeSetupLink.ts";
import { releaseOnFailure } from "./release-on-failure.ts";
import { Report } from "./report.ts";
import { findConsole } from "./review/pages/page-files.ts";
import { addPageRoutes } from "./review/pages/page-routes.ts";
import { addReviewRoutes } from "./review/review-routes.ts";
import { type DataLock, lockDataDirectory } from "./storage/sqlite/data-lock.ts";
import { readLastBackup } from "./storage/sqlite/last-backup.ts";
import type { Store } from "./storage/store.ts";
import { closeTelemetry, startTelemetry } from "./telemetry.ts";
import type { Telemetry } from "./telemetry-interface.ts";
import type { Worker } from "./timer-loop.ts";
import { LocalWake } from "./wake/local-wake.ts";
import { SharedWake } from "./wake/shared-wake.ts";
import { startResolutionPoll } from "./workers/resolution-poll.ts";
import { startSchemaWatch } from "./workers/schema-watch.ts";
import { startWorkers } from "./workers/start-workers.ts";

export interface Provider {
  /** Listening address, like `http://localhost:8787`. */
  readonly url: string;
  /** The setting `public_url`, or else the listening address. */
  readonly publicUrl: string;
  /** Base URL of the contract for agents. */
  readonly contractUrl: string;
  readonly context: Context;
  readonly isNew: boolean;
  /**
   * Answers long polls, lets open exchanges finish within the grace period, stops workers and
   * closes. Repeated calls close once.
   */
  close(): Promise<void>;
  /**
   * Resolves after the close. The value is the Failure when the server closed by itself, because
   * the database was migrated to a schema that this program cannot use.
   */
  readonly closed: Promise<Failure | undefined>;
}

/** @returns a lock that does nothing on a database that replicas may share */
function lockData({ dataDirectory }: Settings, secrets: SecretSettings): DataLock {
  if (isShared(secrets)) return { publish: () => {}, release: () => {} };
  makeDataDirectory(dataDirectory);
  return lockDataDirectory(dataDirectory);
}

/**
 * Starts a server and its workers.
 *
 * @throws Failure when the data cannot be used, or another server uses it; a system error when the
 * address cannot be listened on
 */
export async function startProvider(
  settings: Settings,
  secrets: SecretSettings,
  parts: Parts = {},
): Promise<Provider> {
  const lock = lockData(settings, secrets);
  return releaseOnFailure(async () => {
    const opened = await open(settings, secrets, parts, "server");
    return releaseOnFailure(async () => {
      const report = parts.report ?? new Report(settings.logLevel);
      const telemetry = await startTelemetry(settings, report);
      return releaseOnFailure(
        async () => {
          const traced = { ...opened.context, tracing: telemetry };
          const withIdentity = withIdentityProvider(traced, secrets, report);
          const sending = withDelivery(withWorkloads(withIdentity), secrets, parts, report);
          const { context, shared } = await withSharedWake(sending, secrets);
          return serve({ ...opened, context }, { shared, report, telemetry, lock });
        },
        () => closeTelemetry(telemetry, async () => {}, systemClock),
      );
    }, opened.close);
  }, lock.release);
}

/** Only the context of a server sends webhooks and notifications. */
function withDelivery(
  context: Context,
  secrets: SecretSettings,
  { resolver, ca }: Parts,
  report: Report,
): Context {
  const { settings, clock, random } = context;
  const notifier = createNotifier(settings, secrets, { clock, resolver, ca });
  const outbound = createOutbound(settings, { clock, resolver, ca });
  const print = (text: string) => report.print(text);
  const auditSinks = createAuditSinks(settings, secrets, { clock, resolver, ca, print });
  if (!settings.webhooks.enabled) return { ...context, notifier, auditSinks };
  const delivery = createDelivery(settings, { clock, random, report, resolver, ca });
  return { ...context, notifier, auditSinks, outbound, delivery };
}

/** Only the context of a server has an identity provider, and logs what it does. */
function withIdentityProvider(other: Context, secrets: SecretSettings, report: Report): Context {
  const { settings, clock } = other;
  const context = { ...other, onLastAdminLost: report.lastAdminLost.bind(report) };
  if (settings.oidc === undefined) return context;
  const { issuer, clientId, scopes } = settings.oidc;
  const { loginClaim, nameClaim, groupsClaim, externalIdClaim } = settings.mapping;
  const identityProvider = new OpenidProvider({
    issuer,
    clientId,
    scopes,
    clock,
    clientSecret: secrets.oidcClientSecret,
    wantedClaims: [loginClaim, nameClaim, groupsClaim, externalIdClaim],
    onRefused: (reason) => report.signInRefused(reason),
  });
  return { ...context, identityProvider };
}

/** Only the context of a server exchanges tokens. */
function withWorkloads(context: Context): Context {
  const { settings, clock } = context;
  if (settings.workloadIdentity === undefined) return context;
  const { issuers } = settings.workloadIdentity;
  return { ...context, workloadTokens: new WorkloadTokens({ issuers, clock }) };
}

interface Waking {
  readonly context: Context;
  /** The wake of the context; undefined when no other process may serve the database. */
  readonly shared: SharedWake | undefined;
}

/** Only the context of a server sends messages to other processes. */
async function withSharedWake(context: Context, secrets: SecretSettings): Promise<Waking> {
  if (!isShared(secrets)) return { context, shared: undefined };
  const { PostgresBus } = await import("./storage/postgres/postgres-bus.ts");
  const { random, store } = context;
  const url = secrets.databaseDirectUrl ?? secrets.databaseUrl;
  const query: Store["all"] = (sql, values) => store.all(sql, values);
  const bus = new PostgresBus({ url, query, random });
  const shared = new SharedWake({ local: new LocalWake(), bus, random, clock: systemClock });
  return { context: { ...context, wake: shared }, shared };
}

/** The parts of a server beside its context. */
interface Serving {
  readonly shared: SharedWake | undefined;
  readonly report: Report;
  readonly telemetry: Telemetry | undefined;
  readonly lock: DataLock;
}

async function serve(
  { context, isNew, schema, schemaKnown, reencryption, close: closeStore }: OpenedContext,
  { shared, report, telemetry, lock }: Serving,
): Promise<Provider> {
  const { settings } = context;
  let accepting = true;
  const closed = Promise.withResolvers<Failure | undefined>();
  const app = createHttpServer(settings, report);
  // Stored, because a closed server has no port but still answers open exchanges.
  let port = settings.port;
  const publicUrl = () => publicUrlOf(settings, port);
  const consoleFolder = findConsole();
  addRoutes(app, context, report, { accepting: () => accepting, publicUrl, consoleFolder });
  const isShared = shared !== undefined;
  const lastBackup = isShared ? undefined : () => readLastBackup(settings.dataDirectory);
  observe(context, report, lastBackup);
  const decisionsTraced = observeDecisions(context, report);
  context.store.integrity.onFailure = (failure) => report.integrityFailed(failure);
  // Before the port is open, so that no client connects when this query fails.
  const isSetUp = !(await needsSetup(context));
  await app.listen({ host: settings.host, port: settings.port });
  port = (app.server.address() as AddressInfo).port;
  const url = listeningUrl(settings, port);
  const contractUrl = (settings.publicUrl ?? url) + settings.pathPrefix;
  // Before the workers start: they would keep a process alive that could not start.
  await releaseOnFailure(
    async () => lock.publish({ url, publicUrl: publicUrl(), contractUrl }),
    () => abortHttpServer(app),
  );
  const workers = startWorkers(context, report);
  if (shared !== undefined) {
    workers.push(startAwaiting(context, shared, report));
    const schemas = { version: schema.version, known: schemaKnown, onOutgrown: close };
    workers.push(startSchemaWatch(context, report, schemas));
  }
  report.started(url, schema.version, schemaKnown);
  report.secretsReencrypted(context.keyring.keyId, reencryption);
  if (!isSetUp) report.setupNeeded();

  function close(reason?: Failure): Promise<Failure | undefined> {
    if (accepting) stop().then(() => closed.resolve(reason), closed.reject);
    accepting = false;
    return closed.promise;
  }

  async function stop(): Promise<void> {
    report.stopping();
    await drain(app, context, workers);
    await shared?.close();
    // Before the store, because the last spans and the last export read it.
    await closeTelemetry(telemetry, decisionsTraced, systemClock);
    await closeStore();
    lock.release();
    await report.stopped();
  }

  return {
    url,
    publicUrl: publicUrl(),
    contractUrl,
    context,
    isNew,
    close: async () => void (await close()),
    closed: closed.promise,
  };
}

/** Decisions beyond it have no span, so that memory stays bounded. */
const UNTRACED_DECISIONS_MAX = 1_000;

/**
 * Counts decisions, and records their spans one after another: a commit can resolve many requests.
 *
 * @returns resolves when the spans of all decisions so far are recorded
 */
function observeDecisions(context: Context, report: Report): () => Promise<void> {
  let tracing = Promise.resolve();
  let waiting = 0;
  context.wake.onSignal((signal) => {
    if (signal.kind !== "resolved") return;
    report.requestResolved(signal.status, signal.by);
    if (context.tracing === undefined || waiting >= UNTRACED_DECISIONS_MAX) return;
    waiting++;
    const key = { projectId: signal.projectId, id: signal.requestId };
    tracing = tracing
      .then(() => traceDecision(context, key))
      .catch((error: unknown) => report.dependencyFailed("telemetry", error))
      .finally(() => waiting--);
  });
  return () => tracing;
}

/** Stops workers and open exchanges. Cuts them off after the grace period. */
async function drain(
  app: FastifyInstance,
  context: Context,
  workers: readonly Worker[],
): Promise<void> {
  const closeOutbound = () => {
    context.delivery.close();
    context.notifier.close();
    context.outbound.close();
    for (const sink of context.auditSinks) sink.close();
  };
  // Closes idle connections while stopping: no connection waits for another exchange.
  app.server.keepAliveTimeout = 1;
  context.wake.releaseAll();
  const cancelCutOff = context.clock.after(context.settings.shutdownGraceMs, () => {
    app.server.closeAllConnections();
    closeOutbound();
  });
  await Promise.all([app.close(), ...workers.map((worker) => worker.stop())]);
  cancelCutOff();
  closeOutbound();
}

export interface RoutesState extends OperationalState {
  readonly publicUrl: () => string;
  /** The build of the console; undefined where it does not exist. */
  readonly consoleFolder: string | undefined;
}

/** Registers all routes of a server. */
export function addRoutes(
  app: FastifyInstance,
  context: Context,
  report: Report,
  state: RoutesState,
): void {
  const gate = createGate(context, state.publicUrl);
  const hasConsole = state.consoleFolder !== undefined;
  const prefixed = { prefix: context.settings.pathPrefix };
  app.register(async (scope) => addContractRoutes(scope, context, gate, hasConsole), prefixed);
  app.register(async (scope) => addAgentRoutes(scope, context, gate), prefixed);
  app.register(async (scope) => addTokenRoutes(scope, context, gate, report), prefixed);
  app.register(async (scope) => addHookRoutes(scope, context, gate, state.accepting), prefixed);
  if (context.settings.authzen.enabled)
    addAuthzenRoutes(app, context, gate, state.publicUrl, hasConsole);
  addChatRoutes(app, context, gate, report);
  addProviderLogoutRoutes(app, context, gate, report);
  addScimRoutes(app, context, gate, state.publicUrl);
  addReviewRoutes(app, context, gate, state.publicUrl, report);
  addPageRoutes(app, context, state.consoleFolder);
  addOperationalRoutes(app, context, report, state);
}

/** Polls for requests that other replicas resolved, in case a message was lost. */
function startAwaiting(context: Context, shared: SharedWake, report: Report): Worker {
  const worker = startResolutionPoll(context, report);
  report.observeWake(shared);
  shared.open({
    onListening: () => report.wakeListening(),
    onLost: (error) => report.wakeLost(error),
    onResolvedElsewhere: (requestIds) => worker.check(requestIds),
  });
  return worker;
}

function listeningUrl({ tls, host }: Settings, port: number): string {
  const name = host === "127.0.0.1" || host === "::1" ? "localhost" : host;
  const authority = name.includes(":") ? `[${name}]` : name;
  return `${tls === undefined ? "http" : "https"}://${authority}:${port}`;
}
