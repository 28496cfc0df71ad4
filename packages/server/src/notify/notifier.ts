/**
 * The interface for sending notifications. It is part of the context, so operations and workers do
 * not depend on an implementation.
 */

import type { ChannelTarget, SendOutcome } from "../core/channel.ts";
import type { ChatTarget } from "../core/chat.ts";
import type { PushPayload, PushTarget, VapidKey } from "../core/push.ts";
import type { MaybePromise } from "../egress/message.ts";
import type { RowKey } from "../storage/sql/keys.ts";
import type { ChannelMessage, RefreshedMessage, ResolvedMessage } from "./channel-message.ts";
import type {
  ChatAddresses,
  ChatCall,
  ChatConnection,
  ChatHandler,
  ChatPlatform,
} from "./chat-platform.ts";
import type { TargetFault } from "./target.ts";

export interface SendRequest {
  readonly channel: RowKey;
  readonly target: ChannelTarget;
  readonly message: ChannelMessage;
  /** Time limit, ms. */
  readonly timeoutMs: number;
  /** `Clock.monotonic` of the deadline. Another replica may send after it. */
  readonly endsBy?: number;
  /** Called before the first byte is sent. False: send nothing. */
  readonly isWanted?: (leftMs: number) => MaybePromise<boolean>;
}

export interface UpdateRequest extends Omit<SendRequest, "message"> {
  readonly message: ResolvedMessage | RefreshedMessage;
}

export interface PushRequest extends Pick<SendRequest, "timeoutMs" | "endsBy"> {
  readonly target: PushTarget;
  readonly payload: PushPayload;
  readonly key: VapidKey;
  /** Time that the push service stores the message for an offline browser, in whole seconds. */
  readonly keepS: number;
  /** 16 random bytes for this message. */
  readonly salt: Uint8Array;
}

export interface Notifier {
  /** The fault of a target, as the end of a sentence; undefined when it is valid. */
  faultOf(target: ChannelTarget): TargetFault | undefined;

  /**
   * Sends one message once. Every behaviour of the receiver is an outcome; throws for defects only.
   */
  send(request: SendRequest): Promise<SendOutcome>;

  /** Updates one message once, as {@link send}. */
  update(request: UpdateRequest): Promise<SendOutcome>;

  /** The platform of a chat; undefined where nothing is sent over HTTP. */
  platformOf(kind: ChatTarget["kind"]): ChatPlatform<ChatTarget> | undefined;

  /** Addresses for messages of a channel. */
  addressesOf(channel: RowKey, target: ChatTarget): ChatAddresses;

  /** Opens the connection for the events of a chat. */
  connectChat(channel: RowKey, target: ChatTarget, handler: ChatHandler): ChatConnection;

  /** Sends one call of a reply once. Failures are outcomes, as in {@link send}. */
  callChat(call: ChatCall, timeoutMs: number): Promise<SendOutcome>;

  /** The fault of a push endpoint, as the end of a sentence. */
  pushFault(endpoint: string): string | undefined;

  /** Sends one message to one browser once, as {@link send}. */
  push(request: PushRequest): Promise<SendOutcome>;

  /** True when it sends over HTTP. */
  readonly canPush: boolean;

  /** Aborts messages in flight. */
  close(): void;
}
