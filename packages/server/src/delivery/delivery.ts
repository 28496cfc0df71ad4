/**
 * The interface for sending webhooks. It is part of the context, so operations and workers do not
 * depend on an implementation.
 */

import type { KeyObject } from "node:crypto";
import type { WebhookDeliveryInput, WebhookUrl } from "@countersign/protocol";
import type { AttemptOutcome } from "../core/notification.ts";
import type { MaybePromise, Message } from "../egress/message.ts";
import type { ReceiverUrls } from "../egress/receiver-urls.ts";
import type { DestinationLimits } from "./destination-limits.ts";

/** A receiver that a provisioner proposes. */
export interface Proposal {
  /** Provisioning account. It limits verifications and deliveries. */
  readonly provisionerId: string;
  /** Id of the instance, which may not exist yet. */
  readonly instanceId: string;
  readonly delivery: WebhookDeliveryInput;
}

export type Verification =
  | { readonly kind: "verified" }
  | { readonly kind: "failed" }
  /** A resolved address is not public. */
  | { readonly kind: "unsafe" }
  | { readonly kind: "limited"; readonly retryAfterS: number };

/** One attempt to deliver a notification. */
export interface Sending {
  readonly url: WebhookUrl;
  readonly signingKey: KeyObject;
  /** The `webhook-id` header. */
  readonly id: string;
  readonly body: string;
  /** Time limit, ms; at most the contract's. */
  readonly timeoutMs: number;
  /** `Clock.monotonic` of the deadline. After it, another replica may start an attempt. */
  readonly endsBy: number;
  /** As in {@link Message}: the delivery or its lease may have ended. */
  readonly isWanted: (leftMs: number) => MaybePromise<boolean>;
  /** Header of the message (W3C Trace Context); undefined without telemetry. */
  readonly traceparent?: string | undefined;
}

export interface Delivery {
  /** Shared by verification and delivery. */
  readonly limits: DestinationLimits;

  readonly urls: ReceiverUrls;

  /**
   * Sends one challenge once. Every behaviour of the receiver is an outcome; throws for defects
   * only.
   */
  verify(proposal: Proposal): Promise<Verification>;

  /** Makes one attempt, with the same rule. The caller holds a slot of the limits. */
  send(sending: Sending): Promise<AttemptOutcome>;

  /** Aborts messages in flight. */
  close(): void;
}
