/**
 * Web Push: notifications to browsers about requests which their owners may decide.
 */

import type { LastSending } from "./channel.ts";

/** What a browser gave when it subscribed. Sealed when stored. */
export interface PushTarget {
  /** A secret: anyone who knows it can send there. */
  readonly endpoint: string;
  /** Public key of the browser, base64url of 65 bytes. */
  readonly p256dh: string;
  /** Shared secret of the browser, base64url of 16 bytes. */
  readonly auth: string;
}

/** Times are epoch milliseconds. */
export interface StoredSubscription {
  readonly id: string;
  readonly personId: string;
  /** Display name, chosen by its owner. */
  readonly name: string;
  readonly endpointSha256: string;
  readonly targetShown: string;
  readonly encryptedTarget: string;
  readonly createdAt: number;
  readonly claimedUntil: number | null;
  readonly fence: number;
  /** Since the last message that arrived. */
  readonly failures: number;
  readonly retryAt: number | null;
  readonly last: LastSending | null;
}

/** What the server signs with for push services (VAPID). */
export interface VapidKey {
  /** base64url, uncompressed point. */
  readonly publicKey: string;
  /** base64url of 32 bytes; a secret. */
  readonly privateKey: string;
}

/** What a service worker gets, as JSON. */
export interface PushPayload {
  readonly type: "request.waiting" | "request.resolved" | "push.test";
  /** A later message with the same tag replaces this one. */
  readonly tag: string;
  /** Of the page to open, below the public URL. */
  readonly path: string;
  readonly silent: boolean;
  readonly request_id?: string;
  readonly tool?: string;
  readonly instance_name?: string;
  readonly deadline_at?: string;
  readonly status?: string;
}

export const SUBSCRIPTIONS_PER_PERSON_MAX = 20;

/** Stands in announcements in place of a channel. */
export const PUSH_CHANNEL = "push";

/** The push service has said that the browser is gone. */
export function isSubscriptionGone(status: number | null): boolean {
  return status === 404 || status === 410;
}
