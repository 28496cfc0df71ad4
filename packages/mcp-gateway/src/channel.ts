/**
 * Where messages come from and go to: one MCP connection, whatever carries it.
 */

import type { Message, Received } from "./exact-message.ts";
import type { RequestHeaders } from "./header-value.ts";

/** The other side has not processed the message, and will not. */
export class NotSent extends Error {}

/** The HTTP exchange of a request, for a client with MCP 2026-07-28. */
export interface HttpExchange {
  readonly headers: RequestHeaders;
  /** The headers agree with the request: its response can start, and has the status 200. */
  accept(): void;
}

export interface ChannelEvents {
  message(message: Received, http?: HttpExchange): void;
  /** Called once, as the last event. @param reason for the operator of the gateway */
  ended(reason: string): void;
  /** No answer to this request can come any more, or none can be delivered. */
  lost(id: string): void;
}

export interface Channel {
  /** @throws when it cannot be opened; no event follows then */
  start(events: ChannelEvents): Promise<void>;
  /**
   * @param about id of the other side's request that the message belongs to
   * @param headers of the request, for a transport that has headers
   * @returns when it is written
   * @throws NotSent; another error if the channel cannot determine whether it was sent
   */
  send(message: Message, about?: string, headers?: Readonly<Record<string, string>>): Promise<void>;
  /** Ends it, and what is behind it. Can be called twice. */
  close(): Promise<void>;
  /** For transports that carry the negotiated version themselves. */
  negotiated?(version: string): void;
}
