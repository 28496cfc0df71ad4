/**
 * Listens for clients over Streamable HTTP. Every exchange must name an expected host (so that no
 * web page reaches it by a name of its own), come from no web page that is not listed, and carry
 * the gateway's bearer token. Each session has servers of its own; their number is bounded.
 */

import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Problem } from "@countersign/protocol";
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
  exchanges: number;
  usedAt: number;
}

export interface FrontConfig extends ListenConfig {
  /** The bearer token that clients must send. */
  readonly token: string;
  readonly bytesMax: number;
}

export interface FrontEvents {
  /** @param ended to be called when the session is over */
  accept(channel: SessionChannel | StatelessChannel, ended: () => void): Promise<void>;
  readonly report: Report;
}

/** Why an exchange is rejected before its content is read. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class HttpFront {
  readonly #config: FrontConfig;
  readonly #events: FrontEvents;
  readonly #sessions = new Map<string, OpenSession>();
  readonly #server: Server;
  /** The session of all clients with MCP 2026-07-28. */
  #stateless: StatelessChannel | undefined;
  #statelessUsedAt = 0;
  readonly #sweep: NodeJS.Timeout;
  readonly #token: Buffer;

  constructor(config: FrontConfig, events: FrontEvents) {
    this.#config = config;
    this.#events = events;
    this.#token = digest(config.token);
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
    await Promise.all([...this.#sessions.values()].map(({ channel }) => channel.close()));
    await this.#stateless?.close();
    this.#server.closeAllConnections();
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.#admit(request);
      const messages = request.method === "POST" ? await this.#readBody(request) : [];
      if (messages.length > 0 && isStateless(request.headers, messages)) {
        return await this.#serveStateless(request, response, messages);
      }
      await this.#exchange(request, response, messages);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.status === 401) {
        response.setHeader("www-authenticate", 'Bearer realm="countersign-gateway"');
      }
      refuse(response, error.status, CODE.unavailable, error.message);
    }
  }

  /** @throws Refusal */
  #admit({ url = "", headers }: IncomingMessage): void {
    const { hosts, origins } = this.#config;
    const names = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${this.#port}`);
    if (![...names, ...hosts].includes(headers.host?.toLowerCase() ?? "")) {
      throw new Refusal(403, "Host not allowed. Add it to listen.hosts.");
    }
    if (headers.origin !== undefined && !origins.includes(headers.origin)) {
      throw new Refusal(403, "Origin not allowed.");
    }
    const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1] ?? "";
    if (!timingSafeEqual(digest(given), this.#token)) {
      throw new Refusal(401, "The bearer token of the gateway is missing or wrong.");
    }
    if (url.split("?")[0] !== PATH) throw new Refusal(404, `The gateway is at ${PATH}.`);
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
  ): Promise<void> {
    const admitted = admitStateless(headers, messages, response);
    if (admitted === undefined) return;
    this.#statelessUsedAt = performance.now();
    response.on("close", () => {
      this.#statelessUsedAt = performance.now();
    });
    const channel = this.#stateless ?? (await this.#openStateless());
    channel.serve(admitted, response);
  }

  async #openStateless(): Promise<StatelessChannel> {
    const channel = new StatelessChannel();
    this.#stateless = channel;
    await this.#events.accept(channel, () => {
      if (this.#stateless === channel) this.#stateless = undefined;
    });
    return channel;
  }

  async #exchange(
    request: IncomingMessage,
    response: ServerResponse,
    messages: readonly Received[],
  ): Promise<void> {
    const session = await this.#sessionOf(request, messages);
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
  async #sessionOf(request: IncomingMessage, messages: readonly Received[]): Promise<OpenSession> {
    const { "mcp-session-id": id } = request.headers;
    if (id !== undefined) {
      const session = this.#sessions.get(String(id));
      if (session === undefined) throw new Refusal(404, "Unknown or ended session.");
      return session;
    }
    const [first] = messages;
    if (messages.length !== 1 || first?.kind !== "request" || first.method !== "initialize") {
      throw new Refusal(400, "The first message of a session is initialize.");
    }
    return this.#open();
  }

  /** @throws Refusal when there are too many, all of them in use */
  async #open(): Promise<OpenSession> {
    const { sessionsMax } = this.#config;
    if (this.#sessions.size >= sessionsMax) {
      const [oldest] = [...this.#sessions.values()]
        .filter(({ exchanges }) => exchanges === 0)
        .sort((a, b) => a.usedAt - b.usedAt);
      if (oldest === undefined) throw new Refusal(503, "Too many open sessions. Retry later.");
      this.#events.report("session_dropped", { reason: "replaced by a new session" });
      await oldest.channel.close();
    }
    const id = randomUUID();
    const channel = new SessionChannel(id);
    const session = { channel, exchanges: 0, usedAt: performance.now() };
    this.#sessions.set(id, session);
    try {
      await this.#events.accept(channel, () => this.#sessions.delete(id));
    } catch (error) {
      this.#sessions.delete(id);
      throw error;
    }
    return session;
  }

  #endIdle(): void {
    const before = performance.now() - this.#config.idleMs;
    if (this.#stateless?.size === 0 && this.#statelessUsedAt < before) {
      this.#stateless.close().catch(() => {});
    }
    for (const { channel, exchanges, usedAt } of this.#sessions.values()) {
      if (exchanges === 0 && usedAt < before) channel.close().catch(() => {});
    }
  }
}

/** Of equal length, whatever is compared. */
function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
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
