/** Web Push: notifications to browsers about requests that their users may decide. */

import type { LastSending } from "./channel.ts";

/** A push subscription of a browser. Encrypted when stored. */
export interface PushTarget {
  /** A secret: anyone who has it can send messages to it. */
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
  /** Display name that the owner chose. */
  readonly name: string;
  readonly endpointSha256: string;
  readonly targetShown: string;
  readonly encryptedTarget: string;
  readonly createdAt: number;
  readonly claimedUntil: number | null;
  readonly fence: number;
  /** Failures since the last success. */
  readonly failures: number;
  readonly retryAt: number | null;
  readonly last: LastSending | null;
}

/** The key pair that signs messages for push services (VAPID). */
export interface VapidKey {
  /** base64url, uncompressed point. */
  readonly publicKey: string;
  /** base64url of 32 bytes; a secret. */
  readonly privateKey: string;
}

/** The payload for the service worker, as JSON. */
export interface PushPayload {
  readonly type: "request.waiting" | "request.resolved" | "push.test";
  /** A later message with the same tag replaces an earlier one. */
  readonly tag: string;
  /** Path of the page to open, below the public URL. */
  readonly path: string;
  readonly silent: boolean;
  readonly request_id?: string;
  readonly tool?: string;
  /** The MCP server of the tool, if the call names one. */
  readonly server?: string | undefined;
  readonly instance_name?: string;
  readonly deadline_at?: string;
  readonly status?: string;
}

export const SUBSCRIPTIONS_PER_PERSON_MAX = 20;

/** The value of `channel` in announcements to browsers. */
export const PUSH_CHANNEL = "push";

/** True when the push service reported that the subscription no longer exists. */
export function isSubscriptionGone(status: number | null): boolean {
  return status === 404 || status === 410;
}
