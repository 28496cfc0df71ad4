/**
 * The interface of a chat platform: how it shows messages with buttons, how it proves who pressed
 * one, and how it shows a private reply. An implementation is pure: it writes and reads messages.
 * Others send and receive them, and decide.
 */

import type { Duplex } from "node:stream";
import type { Clock } from "../clock.ts";
import type { ChannelTarget, SendOutcome } from "../core/channel.ts";
import type { ChatEvent, ChatKind, ChatReply, ChatTarget } from "../core/chat.ts";
import type { ChannelMessage, RefreshedMessage, ResolvedMessage } from "./channel-message.ts";
import type { ParseUrl, TargetFault } from "./target.ts";

/** One request to the API of a platform. */
export interface ChatCall {
  readonly method: "POST" | "PUT" | "PATCH";
  /** Absolute. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The answer of a platform to a call, with any status. */
export interface ChatResult {
  readonly status: number;
  readonly body: Uint8Array;
}

/** An HTTP request that claims to be from the platform. */
export interface ChatReceived {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly now: number;
}

/** The answer to an event, and calls that show the reply after the answer. */
export interface ChatAnswer {
  /** Body of the answer, as JSON; undefined: empty. */
  readonly body?: object | undefined;
  readonly calls: readonly ChatCall[];
}

/** Addresses that messages and calls contain. */
export interface ChatAddresses {
  /** Base URL of the project in the console, without a trailing slash. */
  readonly projectUrl: string;
  /** Base URL of the API of the platform, without a trailing slash. */
  readonly apiUrl: string;
  /** Where the platform sends events over HTTP. */
  readonly eventsUrl: string;
}

/** How a platform reaches its service. Everything passes the outbound guard. */
export interface ChatConnector {
  /** Sends a call. @returns undefined without an answer */
  call(call: ChatCall, timeoutMs: number): Promise<ChatResult | undefined>;
  /** Opens a TLS connection to the host of an https URL; undefined when that fails. */
  dial(url: string, timeoutMs: number): Promise<Duplex | undefined>;
  readonly clock: Clock;
}

export interface ChatHandler {
  /** @returns the body of the answer; undefined: an empty one */
  onPayload(payload: unknown): Promise<object | undefined>;
  /** The platform accepted the connection. */
  onConnected(): void;
}

export interface ChatConnection {
  /** Resolves at the end of the connection with a word for its state. Never rejects. */
  readonly closed: Promise<string>;
  close(): void;
}

export interface ChatPlatform<Target extends ChannelTarget> {
  /** The fault of a target, as the end of a sentence; undefined when it is valid. */
  targetFault(target: Target, read: ParseUrl): TargetFault | undefined;

  /**
   * The field that decisions lack, which authenticates events. Undefined when people can decide.
   */
  decisionFault(target: Target): TargetFault | undefined;

  /** True when events arrive over a connection that the server opens, not over HTTP. */
  needsConnection(target: Target): boolean;

  /**
   * Opens the connection for events. Calls are made by `connector`, within the outbound guard.
   *
   * @returns a platform without connections rejects every target
   */
  connect(
    target: Target,
    connector: ChatConnector,
    handler: ChatHandler,
    addresses: ChatAddresses,
  ): ChatConnection;

  /**
   * Secret of the app or bot. Channels with the same one belong to one app: the platform sends all
   * its events to one address or connection.
   */
  appSecret(target: Target): string;

  postCall(target: Target, message: ChannelMessage, addresses: ChatAddresses): ChatCall;
  /** @param status any status, also of an error */
  postOutcome(target: Target, status: number, body: Uint8Array): SendOutcome;

  /** Replaces the whole message. */
  updateCall(
    target: Target,
    message: ResolvedMessage | RefreshedMessage,
    addresses: ChatAddresses,
  ): ChatCall;
  updateOutcome(
    target: Target,
    message: ResolvedMessage | RefreshedMessage,
    status: number,
    body: Uint8Array,
  ): SendOutcome;

  /**
   * Authenticates and reads an HTTP request. Compares secrets in constant time, and rejects a
   * request that was signed more than five minutes ago.
   *
   * @returns "forged" unless the platform sent it; "invalid" when it is not an event
   */
  receive(target: Target, received: ChatReceived): ChatEvent | "forged" | "invalid";

  /**
   * Reads an event that arrived over an authenticated connection.
   *
   * @returns "invalid" when it is not an event
   */
  readPayload(target: Target, payload: unknown): ChatEvent | "invalid";

  /** The answer to an event, which shows a reply to its user alone. */
  answer(target: Target, event: ChatEvent, reply: ChatReply, addresses: ChatAddresses): ChatAnswer;
}

/** The platforms by kind. */
export type ChatPlatforms = {
  readonly [Kind in ChatKind]: ChatPlatform<Extract<ChatTarget, { readonly kind: Kind }>>;
};
