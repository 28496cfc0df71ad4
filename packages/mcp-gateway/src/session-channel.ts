/**
 * One client's session over Streamable HTTP: the SDK's transport, with exact texts at its edges.
 */

import * as streamable from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { Channel, ChannelEvents } from "./channel.ts";
import { seal, unseal } from "./envelope.ts";
import { type Message, type Received, readMessages } from "./exact-message.ts";

export class SessionChannel implements Channel {
  readonly #transport: streamable.WebStandardStreamableHTTPServerTransport;
  readonly #ended = Promise.withResolvers<void>();
  #events: ChannelEvents | undefined;

  /** @param id of the session; unguessable */
  constructor(id: string) {
    this.#transport = new streamable.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
    });
  }

  /** Resolves when the session ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async start(events: ChannelEvents): Promise<void> {
    this.#events = events;
    this.#transport.onmessage = (envelope) => {
      const text = unseal(envelope);
      if (text !== undefined) for (const message of readMessages(text)) events.message(message);
    };
    this.#transport.onclose = () => {
      this.#ended.resolve();
      events.ended("the session ended");
    };
    await this.#transport.start();
  }

  async send(message: Message, about?: string): Promise<void> {
    const related = message.kind === "response" ? message.id : about;
    const id = related === undefined ? undefined : (JSON.parse(related) as string | number);
    await this.#transport.send(seal(message), id === undefined ? {} : { relatedRequestId: id });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /**
   * @param request without its body
   * @param messages what was in the body
   */
  async exchange(request: Request, messages: readonly Received[]): Promise<Response> {
    const envelopes = messages.map(seal);
    const parsedBody = envelopes.length === 1 ? envelopes[0] : envelopes;
    const options = envelopes.length === 0 ? {} : { parsedBody };
    const response = await this.#transport.handleRequest(request, options);
    if (response.body === null) return response;
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(opening()), { status, headers });
  }

  /** The answers to these can no longer be delivered. */
  hangUp(messages: readonly Received[]): void {
    for (const message of messages) {
      if (message.kind === "request") this.#events?.lost(message.id);
    }
  }
}

/** The transport writes whole events: each chunk is one. */
function opening(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  return new TransformStream({
    transform(chunk, controller) {
      const text = decoder.decode(chunk).replace(/^data: (.*)$/m, (line, data: string) => {
        const message = data === "" ? undefined : unseal(JSON.parse(data));
        return message === undefined ? line : `data: ${message}`;
      });
      controller.enqueue(encoder.encode(text));
    },
  });
}
