import {
  Fields,
  formatDuration,
  invalidField,
  JsonNumber,
  type JsonValue,
  parseDuration,
  parseIdentifier,
} from "@countersign/protocol";
import { GRANT_CALLS, GRANT_LASTS_MS } from "../../core/grant.ts";
import type { GrantOrder } from "../../operations/grants/createGrant.ts";

const NAMES = [
  "from_request",
  "instance_id",
  "tool",
  "server",
  "when",
  "session",
  "any_session",
  "note",
  "valid_for",
  "calls",
  "lasts",
];

const TOOL_CHARS_MAX = 512;
const SESSION_CHARS_MAX = 500;
const NOTE_CHARS_MAX = 2_000;

/**
 * Reads the body that makes a grant.
 *
 * @throws Problem `invalid_request` naming the first wrong field
 */
export function parseGrant(body: JsonValue): GrantOrder {
  const fields = new Fields(body, NAMES);
  return {
    fromRequest: parseId(fields, "from_request", "a request"),
    instanceId: parseId(fields, "instance_id", "an instance"),
    tool: boundedText(fields, "tool", TOOL_CHARS_MAX),
    server: boundedText(fields, "server", TOOL_CHARS_MAX),
    // Its length is bounded with the rest of it, where it is read.
    when: fields.text("when", 1),
    session: parseSession(fields),
    note: boundedText(fields, "note", NOTE_CHARS_MAX),
    validityMs: parseMs(fields, "valid_for", Number.POSITIVE_INFINITY),
    callsMax: parseCalls(fields.value("calls")),
    lastsMs: parseMs(fields, "lasts", GRANT_LASTS_MS.max) ?? GRANT_LASTS_MS.default,
  };
}

function parseId(fields: Fields, name: string, of: string): string | undefined {
  const given = fields.text(name, 1);
  if (given === undefined) return undefined;
  const id = parseIdentifier(given);
  if (id === undefined) throw fields.invalid(name, `must be the id of ${of}`);
  return id;
}

function boundedText(fields: Fields, name: string, charsMax: number): string | undefined {
  const text = fields.text(name, 1);
  if (text !== undefined && text.length > charsMax) {
    throw fields.invalid(name, `must not be longer than ${charsMax} characters`);
  }
  return text;
}

function parseSession(fields: Fields): string | null | undefined {
  const session = boundedText(fields, "session", SESSION_CHARS_MAX);
  const any = fields.value("any_session");
  if (any !== undefined && typeof any !== "boolean") {
    throw fields.invalid("any_session", "must be true or false");
  }
  if (any !== true) return session;
  if (session !== undefined) throw fields.invalid("any_session", "excludes session");
  return null;
}

function parseMs(fields: Fields, name: string, msMax: number): number | undefined {
  const text = fields.text(name, 1);
  const ms = text === undefined ? undefined : parseDuration(text);
  if (text !== undefined && ms === undefined) {
    throw fields.invalid(name, "must be a whole number followed by s, m or h, like 5m");
  }
  if (ms !== undefined && ms > msMax) {
    throw fields.invalid(name, `must not be longer than ${formatDuration(msMax)}`);
  }
  return ms;
}

function parseCalls(value: JsonValue | undefined): number {
  if (value === undefined) return GRANT_CALLS.default;
  const isWhole = value instanceof JsonNumber && /^[1-9]\d{0,3}$/.test(value.source);
  const calls = isWhole ? Number(value.source) : 0;
  if (calls < 1 || calls > GRANT_CALLS.max) {
    throw invalidField("calls", `must be a whole number from 1 to ${GRANT_CALLS.max}`);
  }
  return calls;
}
