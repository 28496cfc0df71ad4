/**
 * Signs webhooks: Standard Webhooks v1, HMAC-SHA256. The provider signs every attempt. A receiver
 * computes the expected signature for comparison.
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
 * Parses the signing secret of a registration.
 *
 * @returns the key of 32 bytes; undefined unless the text is `whsec_` and the canonical padded
 *   Base64 of the key
 * @throws never
 * @see contract: Resources, WebhookDeliveryInput
 */
export function parseSigningSecret(text: string): Uint8Array | undefined {
  const encoded = SECRET.exec(text)?.[1];
  if (encoded === undefined) return undefined;
  const binary = atob(encoded);
  // Four spellings of the last character decode to the same key. Encoding gives the canonical one.
  if (btoa(binary) !== encoded) return undefined;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

const HMAC_SHA256 = { name: "HMAC", hash: "SHA-256" } as const;

/**
 * Signs one attempt of a webhook.
 *
 * @param key the decoded secret, not empty
 * @param id the `webhook-id`
 * @param timestampS Unix seconds of this attempt; `webhook-timestamp` contains the same digits
 * @param body the exact bytes that are sent
 * @returns `v1,` and the Base64 digest: the value of `webhook-signature`
 * @throws RangeError for a timestamp that is not a whole number of seconds
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
  // WebCrypto requires a copy with its own buffer.
  const hmacKey = await subtle.importKey("raw", new Uint8Array(key), HMAC_SHA256, false, ["sign"]);
  const digest = new Uint8Array(await subtle.sign("HMAC", hmacKey, content));
  return `v1,${btoa(String.fromCharCode(...digest))}`;
}
