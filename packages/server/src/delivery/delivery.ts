/**
 * What the rest of the house knows of sending webhooks. The context carries it, so that
 * operations can verify a receiver and the worker can deliver without knowing how.
 */

import type { KeyObject } from "node:crypto";
import type { WebhookDeliveryInput, WebhookUrl } from "@countersign/protocol";
import type { AttemptOutcome } from "../core/notification.ts";
import type { MaybePromise, Message } from "../egress/message.ts";
import type { ReceiverUrls } from "../egress/receiver-urls.ts";
import type { DestinationLimits } from "./destination-limits.ts";

/** A receiver that a provisioner proposes. */
export interface Proposal {
  /** Provisioning account: verifications and deliveries are limited for it. */
  readonly provisionerId: string;
  /** May be reserved and not exist yet. */
  readonly instanceId: string;
  readonly delivery: WebhookDeliveryInput;
}

export type Verification =
  | { readonly kind: "verified" }
  | { readonly kind: "failed" }
  /** One of its addresses is not public. */
  | { readonly kind: "unsafe" }
  | { readonly kind: "limited"; readonly retryAfterS: number };

/** One attempt to deliver a notification. */
export interface Sending {
  readonly url: WebhookUrl;
  readonly signingKey: KeyObject;
  /** The `webhook-id`. */
  readonly id: string;
  readonly body: string;
  /** How long it may take, ms; at most what the contract allows. */
  readonly timeoutMs: number;
  /** `Clock.monotonic` of its deadline: another replica may start another attempt after that. */
  readonly endsBy: number;
  /** As in {@link Message}: its delivery may have ended meanwhile, or its lease. */
  readonly isWanted: (leftMs: number) => MaybePromise<boolean>;
}

export interface Delivery {
  /** Shared by verification and delivery. */
  readonly limits: DestinationLimits;

  readonly urls: ReceiverUrls;

  /** One challenge, once. Whatever the receiver does is an outcome; throws for defects only. */
  verify(proposal: Proposal): Promise<Verification>;

  /** One attempt, with the same rule. The caller has a place in the limits for it. */
  send(sending: Sending): Promise<AttemptOutcome>;

  /** Cuts off what is under way. */
  close(): void;
}
