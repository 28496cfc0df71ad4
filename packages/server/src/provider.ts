/** The composition root: creates all parts and connects them. */

import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { systemClock } from "./clock.ts";
import { publicUrlOf } from "./config/public-url.ts";
import type { SecretSettings, Settings } from "./config/settings.ts";
import type { Context } from "./context.ts";
import { createDelivery } from "./delivery/create-delivery.ts";
import { createOutbound } from "./egress/outbound.ts";
import type { Failure } from "./failure.ts";
import { observe } from "./gauges.ts";
import { abortHttpServer } from "./http/abort-http-server.ts";
import { addAgentRoutes } from "./http/agent-routes.ts";
import { createGate } from "./http/authenticate.ts";
import { addChatRoutes } from "./http/chat-routes.ts";
import { addContractRoutes } from "./http/contract-routes.ts";
import { createHttpServer } from "./http/create-http-server.ts";
import { addHookRoutes } from "./http/hook-routes.ts";
import { addOperationalRoutes, type OperationalState } from "./http/operational-routes.ts";
import { createNotifier } from "./notify/create-notifier.ts";
import { OpenidProvider } from "./oidc/openid-provider.ts";
import {
  isShared,
  makeDataDirectory,
  type OpenedContext,
  open,
  type Parts,
} from "./open-context.ts";
import { needsSetup } from "./operations/sign-in/makeSetupLink.ts";
import { releaseOnFailure } from "./release-on-failure.ts";
import { Report } from "./report.ts";
import { findConsole } from "./review/pages/page-files.ts";
import { addPageRoutes } from "./review/pages/page-routes.ts";
import { addReviewRoutes } from "./review/review-routes.ts";
import { type DataLock, lockDataDirectory } from "./storage/sqlite/data-lock.ts";
import type { Store } from "./storage/store.ts";
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
      const withIdentity = withIdentityProvider(opened.context, secrets, report);
      const sending = withDelivery(withIdentity, secrets, parts, report);
      const { context, shared } = await withSharedWake(sending, secrets);
      return serve({ ...opened, context }, shared, report, lock);
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
  if (!settings.webhooks.enabled) return { ...context, notifier };
  const delivery = createDelivery(settings, { clock, random, report, resolver, ca });
  return { ...context, notifier, outbound, delivery };
}

/** Only the context of a server has an identity provider. */
function withIdentityProvider(context: Context, secrets: SecretSettings, report: Report): Context {
  const { settings, clock } = context;
  if (settings.oidc === undefined) return context;
  const { issuer, clientId, scopes, mapping } = settings.oidc;
  const identityProvider = new OpenidProvider({
    issuer,
    clientId,
    scopes,
    clock,
    clientSecret: secrets.oidcClientSecret,
    wantedClaims: [mapping.loginClaim, mapping.nameClaim, mapping.groupsClaim],
    onRefused: (reason) => report.signInRefused(reason),
  });
  return { ...context, identityProvider };
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

async function serve(
  { context, isNew, schema, schemaKnown, reencryption, close: closeStore }: OpenedContext,
  shared: SharedWake | undefined,
  report: Report,
  lock: DataLock,
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
  context.wake.onSignal((signal) => {
    if (signal.kind === "resolved") report.requestResolved(signal.status, signal.by);
  });
  observe(context, report);
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
  app.register(async (scope) => addHookRoutes(scope, context, gate, state.accepting), prefixed);
  addChatRoutes(app, context, gate, report);
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
