/**
 * A server behind a URL, over the SDK's Streamable HTTP. Redirects are not followed: they would
 * take credentials to another place.
 */

import { extractWWWAuthenticateParams } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type Channel, type ChannelEvents, NotSent } from "./channel.ts";
import { rewriteEvents, seal, unseal } from "./envelope.ts";
import {
  type Message,
  type Received,
  readMessages,
  readServerMessages,
  sourceOf,
  textIn,
  writeMessage,
} from "./exact-message.ts";
import { envelopeOf, MODERN_VERSION, NAME_MEMBER } from "./modern-messages.ts";
import type { LoginConfig } from "./oauth/config.ts";
import { explain, type Report } from "./report.ts";

export interface HttpOrder {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined if the server needs no access token. */
  readonly oauth: LoginConfig | undefined;
}

/** A source of access tokens for one server. */
export interface TokenSource {
  /** @param rejected a token that the server has rejected */
  token(rejected?: string): Promise<string>;
}

/** For saying good-bye. */
const CLOSE_MS = 2_000;

export class HttpChannel implements Channel {
  readonly #order: HttpOrder;
  readonly #bytesMax: number;
  readonly #report: Report;
  readonly #tokens: TokenSource | undefined;
  #transport: StreamableHTTPClientTransport | undefined;
  #events: ChannelEvents | undefined;
  #closed: Promise<void> | undefined;
  #isModern = false;
  /** By id of the request: ends the exchange, which cancels a request of MCP 2026-07-28. */
  readonly #exchanges = new Map<string, AbortController>();

  /** By id of the request: headers besides those of its text. */
  readonly #headers = new Map<string, Readonly<Record<string, string>>>();

  constructor(order: HttpOrder, bytesMax: number, report: Report, tokens: TokenSource | undefined) {
    this.#order = order;
    this.#tokens = tokens;
    this.#bytesMax = bytesMax;
    this.#report = report;
  }

  async start(events: ChannelEvents): Promise<void> {
    const transport = new StreamableHTTPClientTransport(new URL(this.#order.url), {
      requestInit: { headers: this.#order.headers },
      fetch: (url, init) => this.#fetch(url, init),
    });
    transport.onmessage = (envelope) => {
      const text = unseal(envelope);
      if (text !== undefined) for (const message of readMessages(text)) events.message(message);
    };
    transport.onerror = (error) => this.#reportTransportError(explain(error));
    this.#transport = transport;
    this.#events = events;
    await transport.start();
  }

  async send(
    message: Message,
    _about?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    if (this.#transport === undefined || this.#closed) throw new Error("it is closed");
    if (this.#isModern && message.kind === "notification") return this.#cancel(message);
    const id = message.kind === "request" ? message.id : "";
    this.#headers.set(id, headers);
    try {
      await this.#transport.send(seal(message));
    } finally {
      this.#headers.delete(id);
    }
  }

  /** MCP 2026-07-28 has no other notification of a client. */
  #cancel(message: Message): void {
    const [read] = readMessages(writeMessage(message));
    if (read?.kind !== "notification" || read.method !== "notifications/cancelled") return;
    const id = read.params?.members.get("requestId");
    if (id !== undefined) this.#exchanges.get(sourceOf(id))?.abort();
  }

  negotiated(version: string): void {
    this.#isModern = version === MODERN_VERSION;
    this.#transport?.setProtocolVersion(version);
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    const transport = this.#transport;
    if (transport === undefined) return;
    const bound = AbortSignal.timeout(CLOSE_MS);
    const late = new Promise<void>((resolve) => bound.addEventListener("abort", () => resolve()));
    // Best effort: a server forgets sessions by itself as well.
    await Promise.race([transport.terminateSession().catch(() => {}), late]);
    await transport.close().catch(() => {});
    this.#events?.ended("the connection was closed");
  }

  #reportTransportError(reason: string): void {
    if (this.#closed) return;
    this.#report("server_trouble", { reason });
    // A stream that was to be taken up again is gone, with what it would have answered.
    if (reason.startsWith("Maximum reconnection attempts")) this.#events?.ended(reason);
  }

  /** The `fetch` of the transport, which sends and receives exact texts. */
  async #fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const envelope = typeof init.body === "string" ? (JSON.parse(init.body) as unknown) : undefined;
    const text = unseal(envelope);
    const awaited = init.method === "POST" ? requestIdOf(envelope) : undefined;
    const headers = new Headers(init.headers);
    const added = text === undefined ? {} : headersOf(text);
    for (const [name, value] of Object.entries(added)) headers.set(name, value);
    const own = Object.entries(this.#headers.get(awaited ?? "") ?? {});
    for (const [name, value] of own) headers.set(name, encoded(value));
    const exchange = new AbortController();
    const signals = init.signal ? [exchange.signal, init.signal] : [exchange.signal];
    if (awaited !== undefined) this.#exchanges.set(awaited, exchange);
    const ended = () => {
      if (awaited !== undefined) this.#exchanges.delete(awaited);
    };
    const sent = { ...init, headers, signal: AbortSignal.any(signals) };
    const body = text === undefined ? sent : { ...sent, body: text };
    try {
      const response = await this.#send(url, headers, { ...body, redirect: "manual" });
      return await this.#receive(response, envelope, awaited, ended);
    } catch (error) {
      ended();
      throw error;
    }
  }

  /**
   * Adds the access token. If the server rejects it, sends the request again with another one.
   *
   * @throws NotSent without access: the server does not process such a request
   */
  async #send(url: string | URL, headers: Headers, init: RequestInit): Promise<Response> {
    if (this.#tokens === undefined) return accessible(await fetch(url, init));
    if (new URL(url).origin !== new URL(this.#order.url).origin) {
      throw new NotSent("the address has another origin, which receives no access token");
    }
    const token = await tokenOf(this.#tokens);
    headers.set("authorization", `Bearer ${token}`);
    const response = await fetch(url, init);
    if (response.status !== 401) return accessible(response);
    await response.body?.cancel();
    headers.set("authorization", `Bearer ${await tokenOf(this.#tokens, token)}`);
    return accessible(await fetch(url, init));
  }

  async #receive(
    response: Response,
    envelope: unknown,
    awaited: string | undefined,
    ended: () => void,
  ): Promise<Response> {
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      return new Response("", { status: 502, statusText: "a redirect, which is not followed" });
    }
    const type = response.headers.get("content-type") ?? "";
    const isStream = /^text\/event-stream\b/i.test(type);
    if (!isStream) ended();
    if (!response.ok || response.body === null) {
      const isJson = /^application\/json\b/i.test(type);
      if (isJson && awaited !== undefined && this.#transport?.sessionId === undefined) {
        return this.#errorOf(response, awaited);
      }
      return this.#noteEnd(response, envelope);
    }
    if (isStream) return this.#eventsOf(response, awaited, ended);
    if (!/^application\/json\b/i.test(type)) return response;
    const body = this.#read(await readText(response.body, this.#bytesMax));
    const isAnswered = body.some((message) => answers(message, awaited));
    if (awaited !== undefined && !isAnswered) this.#events?.lost(awaited);
    return answerWith(response, JSON.stringify(body.map(seal)));
  }

  /** Servers with MCP 2026-07-28 send some JSON-RPC errors with the status 400 or 404. */
  async #errorOf(response: Response, awaited: string): Promise<Response> {
    const { status, statusText, headers, body } = response;
    const text = body === null ? "" : await readText(body, this.#bytesMax);
    const unchanged = new Response(text, { status, statusText, headers });
    try {
      const [error] = readServerMessages(text).messages;
      if (error?.kind !== "response" || error.outcome !== "error") return unchanged;
      const sealed = JSON.stringify(seal({ ...error, id: awaited }));
      return new Response(sealed, { headers: { "content-type": "application/json" } });
    } catch {
      return unchanged;
    }
  }

  /** A session that the server has forgotten is over, whatever is asked in it. */
  #noteEnd(response: Response, envelope: unknown): Response {
    if (response.status === 404 && this.#transport?.sessionId !== undefined && envelope) {
      this.#events?.ended("the server no longer has the session");
    }
    return response;
  }

  #eventsOf(response: Response, awaited: string | undefined, closed: () => void): Response {
    let isAnswered = false;
    let isResumable = false;
    const stream = rewriteEvents(response.body as ReadableStream, this.#bytesMax, {
      rewrite: (data) => {
        const messages = this.#read(data);
        isAnswered ||= messages.some((message) => answers(message, awaited));
        return messages.map((message) => JSON.stringify(seal(message)));
      },
      resumable: () => {
        isResumable = true;
      },
      ended: () => {
        closed();
        // Then the transport takes it up again, or reports that it cannot.
        if (isAnswered || isResumable || awaited === undefined) return;
        this.#events?.lost(awaited);
      },
    });
    return answerWith(response, stream);
  }

  #read(text: string): Received[] {
    const { messages, isExact } = readServerMessages(text);
    if (!isExact) this.#report("server_message_fixed", { chars: text.length });
    return messages;
  }
}

/** @throws NotSent */
async function tokenOf(tokens: TokenSource, rejected?: string): Promise<string> {
  try {
    return await tokens.token(rejected);
  } catch (error) {
    throw new NotSent(explain(error));
  }
}

/** @throws NotSent if the response requires an access token, or one with more scopes */
function accessible(response: Response): Response {
  const { status } = response;
  if (status !== 401 && status !== 403) return response;
  const { resourceMetadataUrl, error, scope } = extractWWWAuthenticateParams(response);
  const isDenied = status === 401 ? resourceMetadataUrl !== undefined : error !== undefined;
  if (!isDenied) return response;
  response.body?.cancel().catch(() => {});
  if (status === 401) {
    throw new NotSent("the server requires an access token: set oauth, and run with --login");
  }
  const scopes = scope === undefined ? "" : `: ${scope.slice(0, 200)}`;
  throw new NotSent(`the token has too few scopes${scopes}. Set oauth.scopes, run with --login`);
}

/** The headers that repeat parts of a request of MCP 2026-07-28. */
function headersOf(text: string): Readonly<Record<string, string>> {
  const [message] = readMessages(text);
  if (message?.kind !== "request") return {};
  const { method, params } = message;
  const envelope = envelopeOf(params);
  if (envelope === undefined) return {};
  const name = textIn(params, NAME_MEMBER[method] ?? "");
  return {
    "mcp-protocol-version": envelope.version,
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": encoded(name) }),
  };
}

function encoded(value: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  if (isPlain && !/^=\?base64\?.*\?=$/.test(value)) return value;
  return `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

/** @returns the id of a request, as JSON */
function requestIdOf(envelope: unknown): string | undefined {
  const { method, id } = Object(envelope) as Record<string, unknown>;
  return method === undefined || id === undefined ? undefined : JSON.stringify(id);
}

function answers(message: Received, id: string | undefined): boolean {
  return message.kind === "response" && message.id === id;
}

function answerWith(response: Response, body: string | ReadableStream<Uint8Array>): Response {
  const headers = new Headers(response.headers);
  for (const name of ["content-length", "content-encoding"]) headers.delete(name);
  return new Response(body, { status: response.status, headers });
}

/** @throws when it is larger, or no text */
async function readText(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > bytesMax) throw new Error(`an answer is longer than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
}
