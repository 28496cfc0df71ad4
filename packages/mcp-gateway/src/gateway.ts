/**
 * Composes the gateway: approvals with a store that survives a crash, and a session for each
 * client, over stdio or Streamable HTTP.
 */

import type { Readable, Writable } from "node:stream";
import { Countersign, type DecisionWindow } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import type { Channel } from "./channel.ts";
import { ChildChannel } from "./child-channel.ts";
import type { GatewayConfig, ServerConfig } from "./config.ts";
import { HttpChannel } from "./http-channel.ts";
import { HttpFront } from "./http-front.ts";
import { ServerAccess } from "./oauth/server-access.ts";
import { explain, type Report, reportAbout } from "./report.ts";
import { Session, type SessionParts } from "./session.ts";
import { StatelessChannel } from "./stateless-http.ts";
import { StdioChannel } from "./stdio-channel.ts";
import { ToolMemory } from "./tool-memory.ts";

export interface GatewayParts {
  readonly config: GatewayConfig;
  readonly providerUrl: string;
  /** The credential of the instance, which no server gets, or a function that reads it. */
  readonly instanceToken: string | (() => string);
  readonly stateFolder: string;
  readonly version: string;
  readonly report: Report;
}

export interface Gateway {
  /** Where it listens; undefined on stdio. */
  readonly url: string | undefined;
  /** Resolves when the client of stdio is gone; never while it listens. */
  readonly ended: Promise<void>;
  /** Takes back what is held, and ends the servers. */
  close(): Promise<void>;
}

/** MCP clients wait for 60 s, and should get the reason. */
const RETRY_FOR = "10s";

/** @throws SdkError `invalid_option` for a URL or a token that cannot be one */
export function openGateway(parts: GatewayParts): SessionParts {
  const { config, providerUrl, instanceToken, stateFolder, version, report } = parts;
  const store = new FileStore(stateFolder, {
    onPruneError: (error) => report("prune_failed", { reason: explain(error) }),
  });
  const approvals = new Countersign({
    url: providerUrl,
    apiKey: instanceToken,
    retryFor: RETRY_FOR,
    store,
    timeout: config.timeout as DecisionWindow,
    // Reports contain what the logger would.
    logger: false,
  });
  return {
    config,
    approvals,
    memory: new ToolMemory(stateFolder),
    report,
    version,
    channelTo: (server) => channelTo(server, config, stateFolder, report),
  };
}

export function channelTo(
  server: ServerConfig,
  config: GatewayConfig,
  stateFolder: string,
  report: Report,
): Channel {
  const { name, child, http } = server;
  const about = reportAbout(report, { server: name });
  if (child !== undefined) return new ChildChannel(child, config.messageBytesMax, about);
  if (http !== undefined) {
    const { url, oauth } = http;
    const access = oauth && new ServerAccess({ name, url, oauth }, stateFolder);
    return new HttpChannel(http, config.messageBytesMax, about, access);
  }
  throw new Error(`The server ${name} has neither a command nor a url.`);
}

/** Serves the one client on these streams. */
export async function serveStdio(
  parts: GatewayParts,
  input: Readable,
  output: Writable,
): Promise<Gateway> {
  const channel = new StdioChannel(input, output, parts.config.messageBytesMax);
  const sessionParts = openGateway(parts);
  const session = new Session(channel, sessionParts);
  await session.start();
  const settled = () => sessionParts.approvals.settled();
  return {
    url: undefined,
    ended: session.ended.then(settled),
    close: () => session.close("the gateway is stopped").then(settled),
  };
}

/** @param token the bearer token of clients, if they may use one. @throws when it cannot listen */
export async function serveHttp(parts: GatewayParts, token: string | undefined): Promise<Gateway> {
  const { config, report } = parts;
  if (config.listen === undefined) throw new Error("The config has no listen section.");
  const sessionParts = openGateway(parts);
  const sessions = new Set<Session>();
  const front = new HttpFront(
    { ...config.listen, token, bytesMax: config.messageBytesMax },
    {
      async accept(channel, { user }, ended) {
        const isShared = channel instanceof StatelessChannel;
        const session = new Session(channel, { ...sessionParts, isShared, user });
        sessions.add(session);
        session.ended.then(() => sessions.delete(session));
        channel.ended.then(ended);
        await session.start();
      },
      report,
    },
  );
  const url = await front.listen();
  return {
    url,
    ended: new Promise(() => {}),
    async close() {
      await Promise.all([...sessions].map((one) => one.close("the gateway is stopped")));
      await sessionParts.approvals.settled();
      await front.close();
    },
  };
}
