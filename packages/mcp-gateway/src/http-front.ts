/**
 * Listens for clients over Streamable HTTP. Every exchange must be admitted. A session belongs to
 * the caller that opened it. Each session has servers of its own; their number is bounded.
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Problem } from "@countersign/protocol";
import { Admission, type Caller, Refusal } from "./admission.ts";
import type { ListenConfig } from "./config.ts";
import { CODE, errorOf, type Received, readMessages, writeMessage } from "./exact-message.ts";
import { explain, type Report } from "./report.ts";
import { SessionChannel } from "./session-channel.ts";
import { admitStateless, isStateless, StatelessChannel } from "./stateless-http.ts";

const PATH = "/mcp";

/** How often idle sessions are looked for. */
const SWEEP_MS = 30_000;

interface OpenSession {
  readonly channel: SessionChannel;
  /** The key of the caller that opened it. */
  readonly owner: string;
  exchanges: number;
  usedAt: number;
}

interface StatelessSession {
  readonly channel: StatelessChannel;
  usedAt: number;
}

export interface FrontConfig extends ListenConfig {
  /** The bearer token that clients may send. */
  readonly token: string | undefined;
  readonly bytesMax: number;
}

export interface FrontEvents {
  /** @param ended to be called when the session is over */
  accept(
    channel: SessionChannel | StatelessChannel,
    caller: Caller,
    ended: () => void,
  ): Promise<void>;
  readonly report: Report;
}

export class HttpFront {
  readonly #config: FrontConfig;
  readonly #events: FrontEvents;
  readonly #sessions = new Map<string, OpenSession>();
  readonly #server: Server;
  readonly #admission: Admission;
  /** By key of the caller: the session of all its clients with MCP 2026-07-28. */
  readonly #stateless = new Map<string, StatelessSession>();
  readonly #sweep: NodeJS.Timeout;

  constructor(config: FrontConfig, events: FrontEvents) {
    this.#config = config;
    this.#events = events;
    this.#admission = new Admission(config, events.report);
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        events.report("exchange_failed", { reason: explain(error) });
        response.destroy();
      });
    });
    this.#sweep = setInterval(() => this.#endIdle(), SWEEP_MS).unref();
  }

  /** @returns where it listens */
  async listen(): Promise<string> {
    const { host, port } = this.#config;
    this.#server.listen(port, host);
    await once(this.#server, "listening");
    const shown = host.includes(":") ? `[${host}]` : host;
    return `http://${shown}:${this.#port}${PATH}`;
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    this.#server.close();
    const all = [...this.#sessions.values(), ...this.#stateless.values()];
    await Promise.all(all.map(({ channel }) => channel.close()));
    this.#server.closeAllConnections();
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, url = "", method } = request;
    const [path = ""] = url.split("?");
    try {
      this.#admission.checkSource(headers, this.#port);
      const metadata = this.#admission.metadataAt(path);
      if (metadata !== undefined) return serveMetadata(request, response, metadata);
      const caller = await this.#admission.authenticate(headers);
      if (path !== PATH) throw new Refusal(404, `The gateway is at ${PATH}.`);
      const messages = method === "POST" ? await this.#readBody(request) : [];
      if (messages.length > 0 && isStateless(headers, messages)) {
        return await this.#serveStateless(request, response, messages, caller);
      }
      await this.#exchange(request, response, messages, caller);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.challenge !== undefined) response.setHeader("www-authenticate", error.challenge);
      refuse(response, error.status, CODE.unavailable, error.message);
    }
  }

  /** @throws Refusal */
  async #readBody(request: IncomingMessage): Promise<Received[]> {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      length += (chunk as Buffer).length;
      if (length > this.#config.bytesMax) {
        throw new Refusal(413, `A message is longer than ${this.#config.bytesMax} bytes.`);
      }
      chunks.push(chunk as Buffer);
    }
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
      return readMessages(text);
    } catch (error) {
      throw new Refusal(
        400,
        error instanceof Problem ? error.message : "The body is not UTF-8 text.",
      );
    }
  }

  async #serveStateless(
    { headers }: IncomingMessage,
    response: ServerResponse,
    messages: readonly Received[],
    caller: Caller,
  ): Promise<void> {
    const admitted = admitStateless(headers, messages, response);
    if (admitted === undefined) return;
    const session = this.#stateless.get(caller.key) ?? (await this.#openStateless(caller));
    session.usedAt = performance.now();
    response.on("close", () => {
      session.usedAt = performance.now();
    });
    session.channel.serve(admitted, headers, response);
  }

  /** @throws Refusal when there are too many, all of them in use */
  async #openStateless(caller: Caller): Promise<StatelessSession> {
    const { key } = caller;
    await this.#makeRoom();
    const channel = new StatelessChannel();
    const session = { channel, usedAt: performance.now() };
    this.#stateless.set(key, session);
    await this.#events.accept(channel, caller, () => {
      if (this.#stateless.get(key) === session) this.#stateless.delete(key);
    });
    return session;
  }

  async #exchange(
    request: IncomingMessage,
    response: ServerResponse,
    messages: readonly Received[],
    caller: Caller,
  ): Promise<void> {
    const session = await this.#sessionOf(request, messages, caller);
    session.exchanges += 1;
    session.usedAt = performance.now();
    response.on("close", () => {
      session.exchanges -= 1;
      session.usedAt = performance.now();
      if (!response.writableFinished) session.channel.hangUp(messages);
    });
    await answer(response, await session.channel.exchange(toWebRequest(request), messages));
  }

  /** @throws Refusal */
  async #sessionOf(
    request: IncomingMessage,
    messages: readonly Received[],
    caller: Caller,
  ): Promise<OpenSession> {
    const { "mcp-session-id": id } = request.headers;
    if (id !== undefined) {
      const session = this.#sessions.get(String(id));
      // Another user's session is as unknown as none.
      if (session?.owner !== caller.key) throw new Refusal(404, "Unknown or ended session.");
      return session;
    }
    const [first] = messages;
    if (messages.length !== 1 || first?.kind !== "request" || first.method !== "initialize") {
      throw new Refusal(400, "The first message of a session is initialize.");
    }
    return this.#open(caller);
  }

  /** @throws Refusal when there are too many, all of them in use */
  async #open(caller: Caller): Promise<OpenSession> {
    await this.#makeRoom();
    const id = randomUUID();
    const channel = new SessionChannel(id);
    const session = { channel, owner: caller.key, exchanges: 0, usedAt: performance.now() };
    this.#sessions.set(id, session);
    try {
      await this.#events.accept(channel, caller, () => this.#sessions.delete(id));
    } catch (error) {
      this.#sessions.delete(id);
      throw error;
    }
    return session;
  }

  /** Closes an idle session if there are too many. @throws Refusal when all of them are in use */
  async #makeRoom(): Promise<void> {
    const count = this.#sessions.size + this.#stateless.size;
    if (count < this.#config.sessionsMax) return;
    const [oldest] = this.#idle.sort((a, b) => a.usedAt - b.usedAt);
    if (oldest === undefined) throw new Refusal(503, "Too many open sessions. Retry later.");
    this.#events.report("session_dropped", { reason: "replaced by a new session" });
    await oldest.channel.close();
  }

  get #idle(): (OpenSession | StatelessSession)[] {
    return [
      ...[...this.#sessions.values()].filter(({ exchanges }) => exchanges === 0),
      ...[...this.#stateless.values()].filter(({ channel }) => channel.size === 0),
    ];
  }

  #endIdle(): void {
    const before = performance.now() - this.#config.idleMs;
    for (const { channel, usedAt } of this.#idle) {
      if (usedAt < before) channel.close().catch(() => {});
    }
  }
}

/** As in RFC 9728: for clients that have no token yet. */
function serveMetadata(
  { method }: IncomingMessage,
  response: ServerResponse,
  metadata: object,
): void {
  if (method !== "GET" && method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD", connection: "close" }).end();
    return;
  }
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata));
}

function toWebRequest({ method = "GET", headersDistinct, url = "" }: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  // Its body was read; where it was sent matters no more.
  return new Request(new URL(url, "http://gateway.invalid"), { method, headers });
}

async function answer(response: ServerResponse, given: Response): Promise<void> {
  response.writeHead(given.status, Object.fromEntries(given.headers));
  response.flushHeaders();
  const reader = given.body?.getReader();
  response.on("close", () => reader?.cancel().catch(() => {}));
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done || response.destroyed) break;
    // An event stream without a reader ends: its writer cannot wait.
    if (!response.write(piece.value) && response.writableLength > UNREAD_BYTES_MAX) {
      response.destroy();
      break;
    }
  }
  response.end();
}

const UNREAD_BYTES_MAX = 64 * 1024 * 1024;

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  const reply = errorOf(code, message);
  const text = writeMessage({ kind: "response", id: "null", ...reply });
  // The gateway does not read the rest of the request.
  response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(text);
}
