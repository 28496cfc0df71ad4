/**
 * A server behind a URL, over the SDK's Streamable HTTP. Redirects are not followed: they would
 * take credentials to another place.
 */

import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Channel, ChannelEvents } from "./channel.ts";
import { rewriteEvents, seal, unseal } from "./envelope.ts";
import { type Message, type Received, readMessages, readServerMessages } from "./exact-message.ts";
import { explain, type Report } from "./report.ts";

export interface HttpOrder {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** For saying good-bye. */
const CLOSE_MS = 2_000;

export class HttpChannel implements Channel {
  readonly #order: HttpOrder;
  readonly #bytesMax: number;
  readonly #report: Report;
  #transport: StreamableHTTPClientTransport | undefined;
  #events: ChannelEvents | undefined;
  #closed: Promise<void> | undefined;

  constructor(order: HttpOrder, bytesMax: number, report: Report) {
    this.#order = order;
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

  async send(message: Message): Promise<void> {
    if (this.#transport === undefined || this.#closed) throw new Error("it is closed");
    await this.#transport.send(seal(message));
  }

  negotiated(version: string): void {
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
    const sent = text === undefined ? init : { ...init, body: text };
    const response = await fetch(url, { ...sent, redirect: "manual" });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      return new Response("", { status: 502, statusText: "a redirect, which is not followed" });
    }
    if (!response.ok || response.body === null) return this.#noteEnd(response, envelope);
    const type = response.headers.get("content-type") ?? "";
    const awaited = init.method === "POST" ? requestIdOf(envelope) : undefined;
    if (/^text\/event-stream\b/i.test(type)) return this.#eventsOf(response, awaited);
    if (!/^application\/json\b/i.test(type)) return response;
    const body = this.#read(await readText(response.body, this.#bytesMax));
    const isAnswered = body.some((message) => answers(message, awaited));
    if (awaited !== undefined && !isAnswered) this.#events?.lost(awaited);
    return answerWith(response, JSON.stringify(body.map(seal)));
  }

  /** A session that the server has forgotten is over, whatever is asked in it. */
  #noteEnd(response: Response, envelope: unknown): Response {
    if (response.status === 404 && this.#transport?.sessionId !== undefined && envelope) {
      this.#events?.ended("the server no longer has the session");
    }
    return response;
  }

  #eventsOf(response: Response, awaited: string | undefined): Response {
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
