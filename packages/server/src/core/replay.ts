/**
 * Whether a submission under a used Idempotency-Key is the same one again.
 *
 * The stored request is its own fingerprint: what was submitted is compared value by value, so
 * a fresh submission pays nothing for the rare replay.
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

/** Windows are compared as text: `60s` and `1m` are different input. */
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
  // A retry sends the same bytes again: then there is nothing to parse.
  if (submitted instanceof JsonObject && submitted.source === stored) return true;
  return equalJson(parseJson(stored, UNLIMITED), submitted);
}

/** What is stored passed the limits of its day; a lowered limit must not break its replay. */
const UNLIMITED = { depthMax: Number.MAX_SAFE_INTEGER, numberCharsMax: Number.MAX_SAFE_INTEGER };
