/**
 * Decides whether a submission with a used Idempotency-Key repeats the stored one.
 *
 * It compares the stored request value by value, so new submissions need no extra fingerprint.
 *
 * @see contract: Endpoints, POST /v1/requests
 */

import {
  type CreateApprovalRequestInput,
  equalJson,
  JsonObject,
  type JsonValue,
  parseJson,
} from "@countersign/protocol";
import type { JsonText, StoredRequest } from "./request.ts";

/** Compares durations as text: `60s` and `1m` are different input. */
export function isSameRequest(stored: StoredRequest, input: CreateApprovalRequestInput): boolean {
  return (
    stored.timeout === input.timeout &&
    same(stored.tool, input.tool) &&
    same(stored.server, input.server) &&
    same(stored.agentReasoning, input.agentReasoning) &&
    same(stored.context, input.context) &&
    same(stored.arguments, input.arguments)
  );
}

function same(stored: JsonText | null, submitted: JsonValue | undefined): boolean {
  if (stored === null || submitted === undefined) return stored === null && submitted === undefined;
  // A retry usually sends the same bytes, which need no parsing.
  if (submitted instanceof JsonObject && submitted.source === stored) return true;
  return equalJson(parseJson(stored, UNLIMITED), submitted);
}

/** The stored text passed the limits at its creation. Lower limits must not break its replay. */
const UNLIMITED = { depthMax: Number.MAX_SAFE_INTEGER, numberCharsMax: Number.MAX_SAFE_INTEGER };
