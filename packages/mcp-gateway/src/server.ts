/**
 * One server behind the gateway, within one session: its connection, what it can do, which tools
 * it says it has. A connection that ends fails what was asked over it and nothing else; the next
 * request opens another one, after a pause.
 */

import type { JsonObject } from "@countersign/protocol";
import { LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";
import type { Channel } from "./channel.ts";
import type { ServerConfig } from "./config.ts";
import { type ListedTool, listedTools } from "./definitions.ts";
import { type Exact, exact, objectIn, objectsIn, type Reply, textIn } from "./exact-message.ts";
import { discover, keepSubscribed, withEnvelope } from "./modern-server.ts";
import { paramHeadersOf, paramValues } from "./param-headers.ts";
import {
  type IncomingNotification,
  type IncomingRequest,
  Peer,
  PeerGone,
  type RequestOptions,
} from "./peer.ts";
import { explain, type Report } from "./report.ts";

export interface ServerEvents {
  request(server: McpServer, request: IncomingRequest): Promise<Reply>;
  notification(server: McpServer, notification: IncomingNotification): void;
  /** Its tools, resources and prompts may be others now. */
  changed(server: McpServer): void;
}

/** Pages of one list: a server that never ends a list is not waited for. */
const PAGES_MAX = 200;

/** How often a list is read anew that changes while it is read. */
const READS_MAX = 3;

/** A definition that is asked about was read no longer ago. */
const FRESH_MS = 5_000;

/** Between two listings of changed tools, because a server may report changes without end. */
const LIST_INTERVAL_MS = 1_000;

/** From one start to the next. */
const PAUSE_MS = 2_000;

interface Connection {
  readonly peer: Peer;
  /** The server's result of `initialize`. */
  readonly opening: JsonObject;
  /** Params of `initialize` for a server with MCP 2026-07-28, which has no such method. */
  readonly modernHello: Exact | undefined;
}

export class McpServer {
  readonly config: ServerConfig;
  readonly #makeChannel: () => Channel;
  readonly #events: ServerEvents;
  readonly #report: Report;
  #hello: Exact | undefined;
  #connecting: Promise<Connection> | undefined;
  #current: Connection | undefined;
  #openedAt = Number.NEGATIVE_INFINITY;
  #wasClosed = false;
  #isReady = false;
  /** Whether the connection has had a subscription, for a server with MCP 2026-07-28. */
  #isSubscribed = false;
  #tools: Map<string, ListedTool> | undefined;
  #listing: Promise<void> | undefined;
  /** Grows with everything that may have changed the tools. */
  #changes = 0;
  #listedAt = Number.NEGATIVE_INFINITY;
  #relistedAt = Number.NEGATIVE_INFINITY;
  #listTimer: NodeJS.Timeout | undefined;
  /** Digests as they were last seen, kept over a change of connection. */
  readonly #seen = new Map<string, string>();
  /** Digests of excluded tools, which are reported once. */
  readonly #excluded = new Set<string>();

  constructor(
    config: ServerConfig,
    makeChannel: () => Channel,
    events: ServerEvents,
    report: Report,
  ) {
    this.config = config;
    this.#makeChannel = makeChannel;
    this.#events = events;
    this.#report = report;
  }

  get name(): string {
    return this.config.name;
  }

  /** The server's result of `initialize`; undefined while it is not connected. */
  get opening(): JsonObject | undefined {
    return this.#current?.opening;
  }

  can(capability: string): boolean {
    return objectIn(this.opening, "capabilities")?.members.has(capability) === true;
  }

  /**
   * @param hello params of `initialize`
   * @throws when it cannot be reached, or does not answer in time
   */
  async open(hello: Exact): Promise<JsonObject> {
    this.#hello = hello;
    return (await this.#connect()).opening;
  }

  /** The client says that it is ready: so does every connection, now and later. */
  async ready(): Promise<void> {
    this.#isReady = true;
    if (this.#current?.modernHello !== undefined) return;
    await this.#current?.peer.notify("notifications/initialized", undefined).catch(() => {});
  }

  /**
   * Sends a request, once.
   *
   * @throws PeerGone when there is no answer; the signal's reason
   */
  async request(
    method: string,
    params: Exact | undefined,
    options: RequestOptions = {},
  ): Promise<Reply<JsonObject>> {
    return requestOver(await this.#connect(), method, params, options);
  }

  /**
   * As {@link McpServer.request}, in the same turn, over the connection that is there.
   *
   * @throws PeerGone when there is none: nothing was sent
   */
  requestNow(method: string, params: Exact, options: RequestOptions): Promise<Reply<JsonObject>> {
    if (this.#current === undefined) throw new PeerGone("the server is not running");
    return requestOver(this.#current, method, params, options);
  }

  /** Arguments of a call that the server also requires as headers. */
  paramHeaders({ definition }: ListedTool, args: JsonObject): Readonly<Record<string, string>> {
    return this.#requiresHeaders ? paramValues(paramHeadersOf(definition), args) : {};
  }

  /** Why the tool cannot be called, because headers of its arguments are not valid. */
  faultOf(definition: JsonObject): string | undefined {
    if (!this.#requiresHeaders) return undefined;
    try {
      paramHeadersOf(definition);
      return undefined;
    } catch (error) {
      return explain(error);
    }
  }

  get #requiresHeaders(): boolean {
    return this.config.http !== undefined && this.#current?.modernHello !== undefined;
  }

  async notify(method: string, params: Exact | undefined): Promise<void> {
    await this.#current?.peer.notify(method, params).catch(() => {});
  }

  /** All pages of a list. @throws PeerGone; an Error of what the server answered */
  async listAll(
    method: string,
    key: string,
    signal = AbortSignal.timeout(this.config.listMs),
  ): Promise<JsonObject[]> {
    const items: JsonObject[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX; page++) {
      const params = cursor === undefined ? exact({}) : exact({ cursor });
      const { outcome, value } = await this.request(method, params, { signal });
      if (outcome === "error") throw new Error(textIn(value, "message") ?? "an error");
      items.push(...objectsIn(value, key));
      cursor = textIn(value, "nextCursor");
      if (cursor === undefined) return items;
    }
    throw new Error(`${method} has more than ${PAGES_MAX} pages`);
  }

  /**
   * The tool as the server lists it now; undefined when it lists none of this name.
   *
   * @throws when the list cannot be had
   */
  async tool(name: string): Promise<ListedTool | undefined> {
    await this.#connect();
    const isFresh = performance.now() - this.#listedAt < FRESH_MS;
    if (!isFresh || this.#tools?.has(name) !== true) await this.listTools();
    return this.#tools?.get(name);
  }

  /** As {@link McpServer.tool}, from the cache alone: undefined also when the list is not known. */
  toolNow(name: string): ListedTool | undefined {
    return this.#tools?.get(name);
  }

  /** Reads all definitions anew, and says what has changed. @throws when they cannot be had */
  async listTools(): Promise<readonly ListedTool[]> {
    this.#listing ??= this.#readTools().finally(() => {
      this.#listing = undefined;
    });
    await this.#listing;
    return [...(this.#tools?.values() ?? [])];
  }

  async close(): Promise<void> {
    this.#wasClosed = true;
    clearTimeout(this.#listTimer);
    const connecting = this.#connecting;
    await this.#current?.peer.close("the session ended");
    const late = await connecting?.catch(() => undefined);
    await late?.peer.close("the session ended");
  }

  async #readTools(): Promise<void> {
    if (!this.can("tools")) {
      this.#tools = new Map();
      return;
    }
    for (let attempt = 0; attempt < READS_MAX; attempt++) {
      const before = this.#changes;
      const all = listedTools(await this.listAll("tools/list", "tools"));
      const listed = all.filter((tool) => !this.#isExcluded(tool));
      this.#compare(listed);
      // The tools changed during the listing, so no call may use it.
      if (before !== this.#changes) continue;
      this.#tools = new Map(listed.map((tool) => [tool.name, tool]));
      this.#listedAt = performance.now();
      return;
    }
    throw new PeerGone("the tools changed while they were listed");
  }

  #isExcluded({ name, digest, definition }: ListedTool): boolean {
    const reason = this.faultOf(definition);
    if (reason === undefined) return false;
    if (!this.#excluded.has(digest)) this.#report("tool_excluded", { tool: name, reason });
    this.#excluded.add(digest);
    return true;
  }

  #compare(listed: readonly ListedTool[]): void {
    for (const { name, digest } of listed) {
      const before = this.#seen.get(name);
      if (before !== undefined && before !== digest) {
        this.#report("tool_definition_changed", { tool: name, before, now: digest });
      }
      this.#seen.set(name, digest);
    }
  }

  async #connect(): Promise<Connection> {
    if (this.#current !== undefined) return this.#current;
    if (this.#wasClosed || this.#hello === undefined) throw new PeerGone("the session ended");
    if (this.#connecting === undefined) {
      if (performance.now() - this.#openedAt < PAUSE_MS) {
        throw new PeerGone("the server failed and is restarting");
      }
      this.#openedAt = performance.now();
      this.#connecting = this.#openConnection(this.#hello).finally(() => {
        this.#connecting = undefined;
      });
    }
    return this.#connecting;
  }

  async #openConnection(hello: Exact): Promise<Connection> {
    let connection: Connection | undefined;
    const peer = new Peer(
      this.#makeChannel(),
      {
        request: (request) => this.#events.request(this, request),
        notification: (notification) => this.#note(notification),
        ended: (reason) => this.#lose(connection, reason),
      },
      this.#report,
    );
    const isAgain = this.#seen.size > 0 || this.#isReady;
    try {
      await peer.start();
      const signal = AbortSignal.timeout(this.config.startMs);
      const { outcome, value } = await peer.request("initialize", hello, { signal });
      const isModern = outcome === "error";
      const opening = isModern ? await discover(peer, hello, signal) : value;
      if (opening === undefined) throw new Error(textIn(value, "message") ?? "an error");
      peer.negotiated(textIn(opening, "protocolVersion") ?? LATEST_PROTOCOL_VERSION);
      connection = { peer, opening, modernHello: isModern ? hello : undefined };
    } catch (error) {
      this.#report("server_not_started", { reason: explain(error) });
      await peer.close("it did not start");
      throw new PeerGone(`the server failed to start: ${explain(error)}`);
    }
    if (peer.isGone) throw new PeerGone("the server ended while it started");
    this.#current = connection;
    this.#isSubscribed = false;
    this.#report("server_started", { again: isAgain });
    if (connection.modernHello !== undefined) keepSubscribed(peer, hello).catch(() => {});
    else if (this.#isReady) {
      await peer.notify("notifications/initialized", undefined).catch(() => {});
    }
    if (isAgain) {
      this.#scheduleListing();
      this.#events.changed(this);
    }
    return connection;
  }

  #lose(connection: Connection | undefined, reason: string): void {
    if (connection === undefined || connection !== this.#current) return;
    this.#current = undefined;
    this.#forgetTools();
    if (this.#wasClosed) return;
    this.#report("server_ended", { reason });
    connection.peer.close(reason).catch(() => {});
  }

  /** For waiting calls: a change of another tool must not refuse them. */
  #scheduleListing(): void {
    const inMs = Math.max(0, this.#relistedAt + LIST_INTERVAL_MS - performance.now());
    this.#listTimer ??= setTimeout(() => {
      this.#listTimer = undefined;
      this.#relistedAt = performance.now();
      this.listTools().catch(() => {});
    }, inMs).unref();
  }

  #forgetTools(): void {
    this.#tools = undefined;
    this.#changes += 1;
  }

  /** Between two subscriptions, the server may have announced a change. */
  #noteMissed(): void {
    this.#report("subscription_reopened");
    this.#forgetTools();
    this.#scheduleListing();
    this.#events.changed(this);
  }

  #note(notification: IncomingNotification): void {
    if (notification.method === "notifications/subscriptions/acknowledged") {
      if (this.#isSubscribed) this.#noteMissed();
      this.#isSubscribed = true;
      return;
    }
    // Until the list is read again, the tools are unknown.
    if (notification.method === "notifications/tools/list_changed") {
      const wasKnown = this.#tools !== undefined;
      this.#forgetTools();
      if (wasKnown) this.#scheduleListing();
    }
    this.#events.notification(this, notification);
  }
}

function requestOver(
  { peer, modernHello }: Connection,
  method: string,
  params: Exact | undefined,
  options: RequestOptions,
): Promise<Reply<JsonObject>> {
  const sent = modernHello === undefined ? params : withEnvelope(params, modernHello);
  return peer.request(method, sent, options);
}
