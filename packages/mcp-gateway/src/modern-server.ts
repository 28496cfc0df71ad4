/**
 * Servers that speak only MCP 2026-07-28. They reject `initialize`, and receive the version and the
 * client with each request.
 */

import { setTimeout } from "node:timers/promises";
import { JsonObject, parseJson } from "@countersign/protocol";
import {
  type Exact,
  objectIn,
  type Reply,
  sourceOf,
  textIn,
  withMembers,
} from "./exact-message.ts";
import { ENVELOPE, MODERN_VERSION } from "./modern-messages.ts";
import type { Peer } from "./peer.ts";

/**
 * Requests what the server can do.
 *
 * @param hello params of `initialize`
 * @returns the same content as a result of `initialize`; undefined: it does not have this version
 */
export async function discover(
  peer: Peer,
  hello: Exact,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const { outcome, value } = await peer.request("server/discover", withEnvelope(undefined, hello), {
    signal,
  });
  if (outcome === "error") return undefined;
  const supported = value.members.get("supportedVersions");
  if (supported === undefined || !sourceOf(supported).includes(`"${MODERN_VERSION}"`)) {
    return undefined;
  }
  const server = objectIn(objectIn(value, "_meta"), ENVELOPE.server);
  const capabilities = withMembers(objectIn(value, "capabilities"), { extensions: undefined });
  const instructions = textIn(value, "instructions");
  const opening = withMembers(undefined, {
    protocolVersion: JSON.stringify(MODERN_VERSION),
    capabilities: capabilities.source,
    serverInfo: server?.source ?? '{"name":"unknown","version":"0"}',
    instructions: instructions === undefined ? undefined : JSON.stringify(instructions),
  });
  return parseJson(opening.source) as JsonObject;
}

/**
 * The params of a request to such a server. They declare no capabilities, so that the server does
 * not request input from the client.
 */
export function withEnvelope(params: Exact | undefined, hello: Exact): Exact {
  const own = objectOf(params);
  const client = objectIn(objectOf(hello), "clientInfo");
  const meta = withMembers(objectIn(own, "_meta"), {
    [ENVELOPE.version]: JSON.stringify(MODERN_VERSION),
    [ENVELOPE.client]: client?.source,
    [ENVELOPE.capabilities]: "{}",
  });
  return withMembers(own, { _meta: meta.source });
}

/** Between two subscriptions. The pause doubles while subscriptions end early. */
const REOPEN_MS = 1_000;
const REOPEN_MS_MAX = 60_000;

/**
 * Receives notifications of changed lists until the connection ends. If a subscription ends
 * before, it opens another one: over HTTP, each request has a connection of its own.
 */
export async function keepSubscribed(peer: Peer, hello: Exact): Promise<void> {
  let pauseMs = REOPEN_MS;
  while (!peer.isGone) {
    const openedAt = performance.now();
    const reply = await subscribe(peer, hello).catch(() => undefined);
    // The server does not support subscriptions.
    if (reply?.outcome === "error") return;
    if (performance.now() - openedAt > REOPEN_MS_MAX) pauseMs = REOPEN_MS;
    await setTimeout(pauseMs, undefined, { ref: false });
    pauseMs = Math.min(2 * pauseMs, REOPEN_MS_MAX);
  }
}

function subscribe(peer: Peer, hello: Exact): Promise<Reply<JsonObject>> {
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
  };
  const params = withEnvelope({ source: JSON.stringify({ notifications }) }, hello);
  return peer.request("subscriptions/listen", params);
}

function objectOf(value: Exact | undefined): JsonObject | undefined {
  if (value === undefined || value instanceof JsonObject) return value;
  return parseJson(value.source) as JsonObject;
}
