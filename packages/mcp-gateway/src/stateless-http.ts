/**
 * Clients with MCP 2026-07-28 over Streamable HTTP. This version has no sessions: each POST is one
 * request, and its response carries the notifications about it. All these clients share one
 * session of the gateway, because they have the same bearer token. The channel replaces their
 * request ids and progress tokens, which can be equal.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
 */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { JsonObject } from "@countersign/protocol";
import type { Channel, ChannelEvents } from "./channel.ts";
import {
  CODE,
  errorOf,
  exact,
  type Message,
  objectIn,
  type Received,
  type Reply,
  readMessages,
  sourceOf,
  textIn,
  withMembers,
  writeMessage,
} from "./exact-message.ts";
import { decoded } from "./header-value.ts";
import {
  ENVELOPE,
  envelopeOf,
  MODERN_VERSION,
  NAME_MEMBER,
  SUBSCRIPTION_ID,
  unsupportedVersion,
} from "./modern-messages.ts";

const HEADER_MISMATCH = -32020;

/** Errors that have an HTTP status of their own. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  [String(HEADER_MISMATCH), 400],
  ["-32021", 400],
  ["-32022", 400],
  [String(CODE.methodNotFound), 404],
]);

/** The response starts immediately: proxies and clients do not wait longer for its head. */
const STREAMED = ["subscriptions/listen"];

/** Interval of comments in an event stream, which keep its connection open. */
const KEEPALIVE_MS = 15_000;

type ModernRequest = Extract<Received, { kind: "request" }>;

interface Exchange {
  /** The client's id, as JSON. */
  readonly id: string;
  /** The client's progress token, as JSON. */
  readonly token: string | undefined;
  readonly response: ServerResponse;
  keepalive: NodeJS.Timeout | undefined;
}

/** Whether the exchange is one of MCP 2026-07-28 or a later version. */
export function isStateless(headers: IncomingHttpHeaders, messages: readonly Received[]): boolean {
  if (headers["mcp-protocol-version"] === MODERN_VERSION) return true;
  const [first] = messages;
  if (first?.kind !== "request" || first.method === "initialize") return false;
  return envelopeOf(first.params) !== undefined;
}

export class StatelessChannel implements Channel {
  readonly #exchanges = new Map<string, Exchange>();
  readonly #ended = Promise.withResolvers<void>();
  #events: ChannelEvents | undefined;
  #next = 0;
  #isClosed = false;

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The number of requests without an answer. */
  get size(): number {
    return this.#exchanges.size;
  }

  async start(events: ChannelEvents): Promise<void> {
    this.#events = events;
  }

  async send(message: Message): Promise<void> {
    if (message.kind === "response") return this.#answer(message.id, message);
    const [read] = readMessages(writeMessage(message));
    if (read?.kind !== "notification") return;
    const { method, params } = read;
    const token = params?.members.get("progressToken");
    const subscription = objectIn(params, "_meta")?.members.get(SUBSCRIPTION_ID);
    const own = token ?? subscription;
    const exchange = own === undefined ? undefined : this.#exchanges.get(sourceOf(own));
    if (exchange === undefined) return;
    const restored = token === undefined ? ofSubscription(params, exchange.id) : undefined;
    const sent = restored ?? withMembers(params, { progressToken: exchange.token });
    stream(exchange).write(eventOf({ kind: "notification", method, params: sent }));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { keepalive, response } of this.#exchanges.values()) {
      clearInterval(keepalive);
      response.destroy();
    }
    this.#exchanges.clear();
    this.#events?.ended("the session ended");
    this.#ended.resolve();
  }

  /** Answers on the response as soon as the session has an answer. */
  serve(request: ModernRequest, headers: IncomingHttpHeaders, response: ServerResponse): void {
    if (this.#isClosed) {
      response.writeHead(503).end();
      return;
    }
    this.#next += 1;
    const own = JSON.stringify(`http-${this.#next}`);
    const meta = objectIn(request.params, "_meta");
    const token = meta?.members.get("progressToken");
    const exchange: Exchange = {
      id: request.id,
      token: token === undefined ? undefined : sourceOf(token),
      response,
      keepalive: undefined,
    };
    this.#exchanges.set(own, exchange);
    response.on("close", () => this.#cancel(own));
    if (STREAMED.includes(request.method)) stream(exchange);
    const sent = withMembers(meta, { progressToken: token === undefined ? undefined : own });
    const params = withMembers(request.params, { _meta: sent.source });
    const text = writeMessage({ kind: "request", id: own, method: request.method, params });
    const accept = () => {
      if (this.#exchanges.has(own)) stream(exchange);
    };
    for (const message of readMessages(text)) this.#events?.message(message, { headers, accept });
  }

  /** The end of the response is the only cancellation that this version has. */
  #cancel(own: string): void {
    const exchange = this.#exchanges.get(own);
    if (exchange === undefined) return;
    clearInterval(exchange.keepalive);
    this.#exchanges.delete(own);
    const params = `{"requestId":${own},"reason":"the client disconnected"}`;
    const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`;
    for (const message of readMessages(text)) this.#events?.message(message);
  }

  #answer(own: string, reply: Reply): void {
    const exchange = this.#exchanges.get(own);
    if (exchange === undefined) return;
    clearInterval(exchange.keepalive);
    this.#exchanges.delete(own);
    const { outcome, value } = reply;
    const message: Message = { kind: "response", id: exchange.id, outcome, value };
    if (exchange.response.headersSent) exchange.response.end(eventOf(message));
    else answerJson(exchange.response, message);
  }
}

/**
 * The request, with headers that agree with it. Otherwise answers the error.
 *
 * @returns undefined when the exchange is answered
 */
export function admitStateless(
  headers: IncomingHttpHeaders,
  messages: readonly Received[],
  response: ServerResponse,
): ModernRequest | undefined {
  const [request] = messages;
  if (messages.length === 1 && request?.kind === "notification") {
    // This version defines no notification of a client over HTTP.
    response.writeHead(202).end();
    return undefined;
  }
  if (messages.length !== 1 || request?.kind !== "request") {
    const reply = errorOf(CODE.invalidRequest, "The body must be one JSON-RPC request.");
    answerJson(response, { kind: "response", id: "null", ...reply }, 400);
    return undefined;
  }
  const reply = rejectionOf(headers, request);
  if (reply === undefined) return request;
  answerJson(response, { kind: "response", id: request.id, ...reply });
  return undefined;
}

function rejectionOf(headers: IncomingHttpHeaders, request: ModernRequest): Reply | undefined {
  const { method, params } = request;
  const version = textIn(objectIn(params, "_meta"), ENVELOPE.version);
  if (headers["mcp-protocol-version"] !== version || version === undefined) {
    return mismatch("MCP-Protocol-Version", "the version in _meta");
  }
  if (version !== MODERN_VERSION) return unsupportedVersion(version);
  if (headers["mcp-method"] !== method) return mismatch("Mcp-Method", "the method");
  if (method === "initialize") return errorOf(CODE.methodNotFound, "No method initialize.");
  const member = NAME_MEMBER[method];
  if (member === undefined) return undefined;
  const name = decoded(headers["mcp-name"]);
  if (name !== undefined && name === textIn(params, member)) return undefined;
  return mismatch("Mcp-Name", `params.${member}`);
}

/** The reply to a request with a header that differs from the body. */
export function mismatch(header: string, member: string): Reply {
  const message = `The header ${header} is missing or differs from ${member} of the body.`;
  return errorOf(HEADER_MISMATCH, message);
}

/** Starts the event stream, once. */
function stream(exchange: Exchange): ServerResponse {
  const { response } = exchange;
  if (response.headersSent) return response;
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
  });
  response.flushHeaders();
  exchange.keepalive = setInterval(() => response.write(":\n\n"), KEEPALIVE_MS).unref();
  return response;
}

function answerJson(response: ServerResponse, message: Message, status?: number): void {
  const text = writeMessage(message);
  response.writeHead(status ?? statusOf(text), { "content-type": "application/json" }).end(text);
}

function statusOf(text: string): number {
  const [message] = readMessages(text);
  if (message?.kind !== "response" || message.outcome === "result") return 200;
  const code = message.value.members.get("code");
  return code === undefined ? 200 : (STATUSES.get(sourceOf(code)) ?? 200);
}

function eventOf(message: Message): string {
  return `event: message\ndata: ${writeMessage(message)}\n\n`;
}

function ofSubscription(params: JsonObject | undefined, id: string): { readonly source: string } {
  const meta = withMembers(objectIn(params, "_meta"), { [SUBSCRIPTION_ID]: id });
  return params === undefined ? exact({}) : withMembers(params, { _meta: meta.source });
}
