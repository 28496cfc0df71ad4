/**
 * Composes everything: the one place where parts are made and handed to each other.
 */

import { existsSync, mkdirSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Clock, type Random, systemClock, systemRandom } from "./clock.ts";
import type { Settings } from "./config/settings.ts";
import type { Context } from "./context.ts";
import { createGate } from "./http/authenticate.ts";
import { addContractRoutes } from "./http/contract-routes.ts";
import { createHttpServer } from "./http/create-http-server.ts";
import { addOperationalRoutes } from "./http/operational-routes.ts";
import { adoptSecretKey } from "./operations/adoptSecretKey.ts";
import { countPendingRequests } from "./operations/countPendingRequests.ts";
import { Report } from "./report.ts";
import { addReviewRoutes } from "./review/review-routes.ts";
import { Keyring } from "./secrets/keyring.ts";
import { loadMasterKey } from "./secrets/master-key.ts";
import { assertMigrated, migrate } from "./storage/migrate.ts";
import { lockDataDirectory } from "./storage/sqlite/data-lock.ts";
import { SqliteStore } from "./storage/sqlite/sqlite-store.ts";
import { LocalWake } from "./wake/local-wake.ts";
import { startExpiry } from "./workers/expiry.ts";
import { startRetention } from "./workers/retention.ts";

/** What tests and simulations replace. */
export interface Parts {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly report?: Report;
}

export interface OpenedContext {
  readonly context: Context;
  /** True when there was no database before. */
  readonly isNew: boolean;
  readonly schemaVersion: number;
  close(): Promise<void>;
}

export interface Provider {
  /** Where it listens, like `http://localhost:8787`. */
  readonly url: string;
  readonly context: Context;
  readonly isNew: boolean;
  /** Answers held polls, finishes open exchanges within the grace, stops work, closes. */
  close(): Promise<void>;
}

/** The database of a data folder; what commands use that run beside a server. */
export function databaseFile(dataDirectory: string): string {
  return join(dataDirectory, "countersign.db");
}

/** How long a server lets a command beside it write, with its own event loop held. */
const SERVER_BUSY_MS = 250;

/**
 * Opens the data folder without serving it; also beside a running server.
 *
 * @param secretKey the setting; undefined uses the file in the folder
 * @throws Failure when the data cannot be used, or has another schema than this program
 */
export function openContext(
  settings: Settings,
  secretKey: string | undefined,
  parts: Parts = {},
): Promise<OpenedContext> {
  return open(settings, secretKey, parts, false);
}

async function open(
  settings: Settings,
  secretKey: string | undefined,
  parts: Parts,
  isServer: boolean,
): Promise<OpenedContext> {
  const { dataDirectory } = settings;
  const { clock = systemClock, random = systemRandom() } = parts;
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const file = databaseFile(dataDirectory);
  const isNew = !existsSync(file);
  const keyring = new Keyring(loadMasterKey(secretKey, dataDirectory, isNew));
  const store = new SqliteStore(file, clock, isServer ? SERVER_BUSY_MS : undefined);
  const context = { store, clock, random, wake: new LocalWake(), keyring, settings };
  try {
    const schemaVersion = await (isServer || isNew ? migrate(store) : assertMigrated(store));
    await adoptSecretKey(context);
    return { context, isNew, schemaVersion, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Starts a server and its workers.
 *
 * @throws Failure when the data cannot be used or another server uses it; a system error when
 *   the address cannot be listened on
 */
export async function startProvider(
  settings: Settings,
  secretKey: string | undefined,
  parts: Parts = {},
): Promise<Provider> {
  mkdirSync(settings.dataDirectory, { recursive: true, mode: 0o700 });
  const unlock = lockDataDirectory(settings.dataDirectory);
  try {
    const opened = await open(settings, secretKey, parts, true);
    try {
      return await serve(opened, parts.report ?? new Report(settings.logLevel), unlock);
    } catch (error) {
      await opened.close();
      throw error;
    }
  } catch (error) {
    unlock();
    throw error;
  }
}

async function serve(
  { context, isNew, schemaVersion, close: closeStore }: OpenedContext,
  report: Report,
  unlock: () => void,
): Promise<Provider> {
  const { settings } = context;
  let accepting = true;
  const app = createHttpServer(settings, report);
  const gate = createGate(context);
  const prefixed = { prefix: settings.pathPrefix };
  app.register(async (scope) => addContractRoutes(scope, context, gate), prefixed);
  addReviewRoutes(app, context, gate);
  addOperationalRoutes(app, context, report, { accepting: () => accepting });
  context.wake.onSignal((signal) => {
    if (signal.kind === "resolved") report.requestResolved(signal.status);
  });
  report.observe({
    pollsHeld: () => context.wake.waiting,
    requestsPending: () => countPendingRequests(context),
  });
  await app.listen({ host: settings.host, port: settings.port });
  const workers = [startExpiry(context, report), startRetention(context, report)];
  const url = listeningUrl(settings, (app.server.address() as AddressInfo).port);
  report.started(url, schemaVersion);

  async function close(): Promise<void> {
    accepting = false;
    report.stopping();
    // Connections whose exchange ends from now on are not kept for a next one.
    app.server.keepAliveTimeout = 1;
    context.wake.releaseAll();
    const cutOff = context.clock.after(settings.shutdownGraceMs, () =>
      app.server.closeAllConnections(),
    );
    await app.close();
    cutOff();
    await Promise.all(workers.map((worker) => worker.stop()));
    await closeStore();
    unlock();
    report.stopped();
  }

  return { url, context, isNew, close };
}

function listeningUrl({ tls, host }: Settings, port: number): string {
  const name = host === "127.0.0.1" || host === "::1" ? "localhost" : host;
  const authority = name.includes(":") ? `[${name}]` : name;
  return `${tls === undefined ? "http" : "https"}://${authority}:${port}`;
}
