/**
 * Parses webhooks strictly and verifies their signatures.
 *
 * @see contract: Events; Authentication, 5
 */

import {
  Fields,
  JsonObject,
  Problem,
  parseJsonBytes,
  parseSigningSecret,
  signWebhook,
  WEBHOOK_HEADERS,
} from "@countersign/protocol";
import { identifier, timestamp } from "./answer.ts";
import type { ResolvedEvent } from "./receiver-store.ts";

export type WebhookMessage =
  | {
      readonly type: "webhook.verification";
      readonly registrationId: string;
      readonly instanceId: string;
      /** The original spelling, because the answer repeats it. */
      readonly challenge: string;
    }
  | { readonly type: "request.resolved"; readonly event: ResolvedEvent };

/** The signed data of a webhook and its signatures, not verified yet. */
export interface Signed {
  readonly id: string;
  /** Unix seconds. */
  readonly timestampS: number;
  readonly signatures: readonly string[];
  readonly body: Uint8Array;
}

/** Size limit of a webhook body, bytes. */
export const WEBHOOK_BYTES_MAX = 16_384;

/** Time limit for reading a body. A sender's attempt does not last longer. */
export const BODY_MS_MAX = 10_000;

/** @see contract: Limits, Signature timestamp tolerance */
export const TOLERANCE_S = 300;

const IDS = ["id", "instance_id"];

/** @returns the message, not verified yet; undefined if it is malformed */
export function readMessage(body: Uint8Array, webhookId: string): WebhookMessage | undefined {
  try {
    return parseMessage(body, webhookId);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/**
 * @returns the message, not verified yet
 * @throws Problem if it is malformed
 */
export function parseMessage(body: Uint8Array, webhookId: string): WebhookMessage {
  const json = parseJsonBytes(body);
  const type = json instanceof JsonObject ? json.members.get("type") : undefined;
  if (type === "webhook.verification") {
    const names = [...IDS, "type", "created_at", "registration_id", "challenge"];
    const fields = new Fields(json, names);
    identifier(fields, "id");
    timestamp(fields, "created_at");
    identifier(fields, "challenge");
    return {
      type,
      registrationId: identifier(fields, "registration_id"),
      instanceId: identifier(fields, "instance_id"),
      challenge: fields.text("challenge", 1) ?? "",
    };
  }
  if (type !== "request.resolved") {
    const message = "The type must be webhook.verification or request.resolved.";
    throw new Problem("invalid_request", message, { param: "type" });
  }
  const fields = new Fields(json, [...IDS, "type", "created_at", "request_id"]);
  const event: ResolvedEvent = {
    id: identifier(fields, "id"),
    instanceId: identifier(fields, "instance_id"),
    requestId: identifier(fields, "request_id"),
    createdAt: timestamp(fields, "created_at"),
  };
  if (event.id === webhookId.toLowerCase()) return { type, event };
  const message = "The id must be the value of the header webhook-id.";
  throw new Problem("invalid_request", message, { param: "id" });
}

/** Above the number of signatures during a key rotation. */
const SIGNATURES_MAX = 16;

/** @returns undefined when a header is missing or malformed */
export function readSigned(headers: Headers, body: Uint8Array): Signed | undefined {
  const id = headers.get(WEBHOOK_HEADERS.id);
  const timestampS = headers.get(WEBHOOK_HEADERS.timestamp) ?? "";
  const signatures = headers.get(WEBHOOK_HEADERS.signature);
  if (id === null || signatures === null || !/^\d{1,15}$/.test(timestampS)) return undefined;
  const each = signatures.split(" ").slice(0, SIGNATURES_MAX);
  return { id, timestampS: Number(timestampS), signatures: each, body };
}

/** True if one signature is valid for the secret; false for a malformed secret. @throws never */
export async function isSignedBy(signed: Signed, secret: string): Promise<boolean> {
  const key = parseSigningSecret(secret);
  if (key === undefined) return false;
  const expected = await signWebhook(key, signed.id, signed.timestampS, signed.body);
  let isOne = false;
  // Compares all signatures, so that the duration reveals nothing.
  for (const signature of signed.signatures)
    isOne = equalInConstantTime(signature, expected) || isOne;
  return isOne;
}

function equalInConstantTime(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
