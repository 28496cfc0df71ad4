import {
  Fields,
  formatDuration,
  invalidField,
  type JsonObject,
  type JsonValue,
  parseDuration,
} from "@countersign/protocol";
import { HOLD_MS_MAX, HOLD_MS_MIN } from "../../core/held-verdict.ts";
import type { BrowserAnswer } from "../../identity/passkeys.ts";
import type { Verdict } from "../../operations/requests/verdictNote.ts";
import type { SignedAnswer } from "../../operations/requests/verifySignature.ts";

/** A verdict as it comes in, with the signature still to be verified. */
export interface SentVerdict extends Verdict {
  readonly passkey: SignedAnswer | undefined;
}

/**
 * Reads the body of a verdict: `verdict` (approve or deny), `arguments_sha256` (hex, of the
 * exact arguments text that was shown), optional `note` and `hold`, and for approvals `valid_for`,
 * `confirmation` and `passkey`.
 *
 * @throws Problem `invalid_request` naming the first wrong field
 */
export function parseVerdict(body: JsonValue): SentVerdict {
  const fields = new Fields(body, FIELDS);
  const verdict = fields.required("verdict", fields.text("verdict", 1));
  if (verdict !== "approve" && verdict !== "deny") {
    throw invalidField("verdict", "must be approve or deny");
  }
  const digest = fields.required("arguments_sha256", fields.text("arguments_sha256", 1));
  if (!/^[0-9a-f]{64}$/.test(digest)) {
    throw invalidField("arguments_sha256", "must be 64 lowercase hexadecimal digits");
  }
  const validFor = fields.text("valid_for", 1);
  if (validFor !== undefined && verdict === "deny") {
    throw invalidField("valid_for", "belongs to approvals only");
  }
  const validityMs = validFor === undefined ? undefined : parseDuration(validFor);
  if (validFor !== undefined && validityMs === undefined) {
    throw invalidField("valid_for", "must be a whole number followed by s, m or h, like 5m");
  }
  const confirmation = fields.text("confirmation", 1);
  if (confirmation !== undefined && verdict === "deny") {
    throw invalidField("confirmation", "belongs to approvals only");
  }
  const note = fields.text("note", 1);
  if (note !== undefined && note.length > NOTE_CHARS_MAX) {
    throw invalidField("note", `must not be longer than ${NOTE_CHARS_MAX} characters`);
  }
  const passkey = readPasskey(fields);
  if (passkey !== undefined && verdict === "deny") {
    throw invalidField("passkey", "belongs to approvals only");
  }
  const holdMs = readHold(fields);
  if (passkey !== undefined && holdMs !== undefined) {
    throw invalidField("hold", "does not belong to what a passkey signed");
  }
  return { verdict, argumentsSha256: digest, note, validityMs, confirmation, passkey, holdMs };
}

function readHold(fields: Fields): number | undefined {
  const text = fields.text("hold", 1);
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= HOLD_MS_MIN && ms <= HOLD_MS_MAX) return ms;
  const [min, max] = [formatDuration(HOLD_MS_MIN), formatDuration(HOLD_MS_MAX)];
  throw invalidField("hold", `must be a duration from ${min} to ${max}, like 5s`);
}

function readPasskey(body: Fields): SignedAnswer | undefined {
  const object = body.object("passkey");
  if (object === undefined) return undefined;
  const fields = new Fields(object, ["nonce", "assertion"], "passkey");
  const nonce = fields.required("nonce", fields.text("nonce", 1));
  const assertion = fields.required("assertion", fields.object("assertion"));
  return { nonce, assertion: toBrowserAnswer(assertion) };
}

/** What a browser's `toJSON` gave, as plain values: only texts, lists and objects matter in it. */
export function toBrowserAnswer(object: JsonObject): BrowserAnswer {
  return JSON.parse(object.source) as BrowserAnswer;
}

/** A page of a list holds those of 200 requests, and of all who voted for them. */
const NOTE_CHARS_MAX = 10_000;

const FIELDS = [
  "verdict",
  "arguments_sha256",
  "note",
  "valid_for",
  "confirmation",
  "passkey",
  "hold",
];
