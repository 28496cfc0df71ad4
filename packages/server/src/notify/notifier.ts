/**
 * What the rest of the house knows of telling people. The context carries it, so that operations
 * and the worker can send without knowing how.
 */

import type { ChannelTarget, SendOutcome } from "../core/channel.ts";
import type { PushPayload, PushTarget, VapidKey } from "../core/push.ts";
import type { MaybePromise } from "../egress/message.ts";
import type { ChannelMessage } from "./channel-message.ts";

export interface SendRequest {
  readonly target: ChannelTarget;
  readonly message: ChannelMessage;
  /** How long it may take, ms. */
  readonly timeoutMs: number;
  /** `Clock.monotonic` of its deadline: another replica may send after that. */
  readonly endsBy?: number;
  /** Asked before the first byte of the message; false: send nothing. */
  readonly isWanted?: (leftMs: number) => MaybePromise<boolean>;
}

export interface PushRequest extends Pick<SendRequest, "timeoutMs" | "endsBy"> {
  readonly target: PushTarget;
  readonly payload: PushPayload;
  readonly key: VapidKey;
  /** How long the push service keeps it for a browser that is away, whole seconds. */
  readonly keepS: number;
  /** 16 bytes, drawn for this message alone. */
  readonly salt: Uint8Array;
}

export interface Notifier {
  /** What is wrong with a target, as a sentence's end for people; undefined when nothing is. */
  faultOf(target: ChannelTarget): TargetFault | undefined;

  /** One message, once. Whatever the other side does is an outcome; throws for defects only. */
  send(request: SendRequest): Promise<SendOutcome>;

  /** What is wrong with the endpoint of a browser, as the end of a sentence. */
  pushFault(endpoint: string): string | undefined;

  /** One message to one browser, once; as {@link send}. */
  push(request: PushRequest): Promise<SendOutcome>;

  /** Whether it sends anything over HTTP. */
  readonly canPush: boolean;

  /** Cuts off what is under way. */
  close(): void;
}

/** A field of the target, and the end of a sentence that begins with it. */
export interface TargetFault {
  readonly field: string;
  readonly rule: string;
}
