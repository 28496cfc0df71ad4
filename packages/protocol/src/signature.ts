/**
 * How the provider signs what it sends to a receiver: Standard Webhooks v1, HMAC-SHA256. Called
 * by the provider for every attempt; receivers can use it to compute what to compare with.
 *
 * @see contract: Authentication, 5; contract/vectors/signature.json
 */

/** The headers of every webhook. @see contract: Endpoints, Webhook operations */
export const WEBHOOK_HEADERS = {
  id: "webhook-id",
  /** Unix seconds of this attempt, in digits. */
  timestamp: "webhook-timestamp",
  signature: "webhook-signature",
} as const;

const SECRET = /^whsec_([A-Za-z0-9+/]{43}=)$/;

/**
 * @returns the key of 32 bytes, or undefined when the text is anything but `whsec_` and its
 *   canonical padded base64
 * @throws never
 * @see contract: Resources, WebhookDeliveryInput
 */
export function parseSigningSecret(text: string): Uint8Array | undefined {
  const encoded = SECRET.exec(text)?.[1];
  if (encoded === undefined) return undefined;
  const binary = atob(encoded);
  // Four last characters decode to each key; the canonical one is that which encoding gives.
  if (btoa(binary) !== encoded) return undefined;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

const HMAC_SHA256 = { name: "HMAC", hash: "SHA-256" } as const;

/**
 * @param key the decoded secret; of any length but zero
 * @param id the `webhook-id`
 * @param timestampS Unix seconds of this attempt; `webhook-timestamp` holds the same digits
 * @param body the exact bytes that are sent
 * @returns `v1,` and the base64 digest: the value of `webhook-signature`
 * @throws RangeError when the timestamp is no whole number of seconds
 */
export async function signWebhook(
  key: Uint8Array,
  id: string,
  timestampS: number,
  body: Uint8Array,
): Promise<string> {
  if (!Number.isSafeInteger(timestampS) || timestampS < 0) {
    throw new RangeError("a webhook timestamp is a whole number of seconds");
  }
  const head = new TextEncoder().encode(`${id}.${timestampS}.`);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  const { subtle } = crypto;
  // The copy has a buffer of its own, as WebCrypto wants it.
  const hmacKey = await subtle.importKey("raw", new Uint8Array(key), HMAC_SHA256, false, ["sign"]);
  const digest = new Uint8Array(await subtle.sign("HMAC", hmacKey, content));
  return `v1,${btoa(String.fromCharCode(...digest))}`;
}
