/**
 * The bodies that are sent about policies.
 */

import {
  Fields,
  invalidField,
  JsonNumber,
  type JsonValue,
  parseDuration,
  parseIdentifier,
} from "@countersign/protocol";
import type { ProposalOrder } from "../../operations/policy/proposePolicy.ts";
import type { Publication } from "../../operations/policy/publishPolicy.ts";
import type { Rejection } from "../../operations/policy/rejectProposal.ts";
import type { Rollback } from "../../operations/policy/rollbackPolicy.ts";
import type { SimulationOrder } from "../../operations/policy/simulatePolicy.ts";

const SOURCE_BYTES_MAX = 256 * 1024;
const NOTE_CHARS_MAX = 1_000;
const NUMBER_MAX = 1_000_000_000;

const SIMULATED_MS = 7 * 24 * 3_600_000;
export const SIMULATED_MAX = 100_000;
const EXAMPLES = 100;

/** @throws Problem `invalid_request` naming the field */
export function parseDraft(body: JsonValue): string {
  return sourceOf(new Fields(body, ["source"]));
}

/** @throws Problem `invalid_request` naming the field */
export function parsePublication(body: JsonValue): Omit<Publication, "scope"> {
  const fields = new Fields(body, ["source", "expected_number", "note"]);
  return { source: sourceOf(fields), expectedNumber: expectedOf(fields), note: noteOf(fields) };
}

/** @throws Problem `invalid_request` naming the field */
export function parseRollback(body: JsonValue): Omit<Rollback, "scope"> {
  const fields = new Fields(body, ["number", "expected_number", "note"]);
  const number = fields.required("number", wholeOf(fields, "number", 1, NUMBER_MAX));
  return { number, expectedNumber: expectedOf(fields), note: noteOf(fields) };
}

/**
 * @param now epoch ms
 * @throws Problem `invalid_request` naming the field
 */
export function parseSimulation(body: JsonValue, now: number): Omit<SimulationOrder, "scope"> {
  const names = ["source", "since", "until", "instance_id", "limit", "examples"];
  const fields = new Fields(body, names);
  const since = timeOf(fields, "since", now) ?? now - SIMULATED_MS;
  const until = timeOf(fields, "until", now) ?? now + 1;
  if (until < since) throw invalidField("until", "must not be before since");
  const instance = fields.text("instance_id", 1);
  const instanceId = instance === undefined ? undefined : parseIdentifier(instance);
  if (instance !== undefined && instanceId === undefined) {
    throw invalidField("instance_id", "must be the id of an instance");
  }
  return {
    source: sourceOf(fields),
    since,
    until,
    instanceId,
    limit: wholeOf(fields, "limit", 1, SIMULATED_MAX) ?? SIMULATED_MAX,
    examples: wholeOf(fields, "examples", 0, SIMULATED_MAX) ?? EXAMPLES,
  };
}

/** @throws Problem `invalid_request` naming the field */
export function parseProposal(body: JsonValue): Omit<ProposalOrder, "scope"> {
  const fields = new Fields(body, ["source", "restores", "expected_number", "note"]);
  const restores = wholeOf(fields, "restores", 1, NUMBER_MAX);
  if (restores !== undefined && fields.value("source") !== undefined) {
    throw invalidField("restores", "cannot be given together with source");
  }
  const content = restores === undefined ? { source: sourceOf(fields) } : { restores };
  return { content, expectedNumber: expectedOf(fields), note: noteOf(fields) };
}

/** @throws Problem `invalid_request` naming the field */
export function parseRejection(body: JsonValue): Pick<Rejection, "note"> {
  return { note: noteOf(new Fields(body, ["note"])) };
}

function sourceOf(fields: Fields): string {
  const source = fields.required("source", fields.text("source", 1));
  if (Buffer.byteLength(source) > SOURCE_BYTES_MAX) {
    throw invalidField("source", `must not be longer than ${SOURCE_BYTES_MAX} bytes`);
  }
  // What no YAML file holds, and not every database stores.
  if (source.includes("\0")) throw invalidField("source", "must not hold the character U+0000");
  return source;
}

function expectedOf(fields: Fields): number {
  const number = wholeOf(fields, "expected_number", 0, NUMBER_MAX);
  return fields.required("expected_number", number);
}

function noteOf(fields: Fields): string | null {
  const note = fields.text("note", 1) ?? null;
  if (note !== null && (note.length > NOTE_CHARS_MAX || note.includes("\0"))) {
    throw invalidField("note", `must be a text of at most ${NOTE_CHARS_MAX} characters`);
  }
  return note;
}

function wholeOf(fields: Fields, name: string, min: number, max: number): number | undefined {
  const value = fields.value(name);
  if (value === undefined) return undefined;
  const isWhole = value instanceof JsonNumber && /^(0|[1-9]\d{0,9})$/.test(value.source);
  const number = isWhole ? Number(value.source) : Number.NaN;
  if (!(number >= min && number <= max)) {
    throw invalidField(name, `must be a whole number from ${min} to ${max}`);
  }
  return number;
}

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;

/** A moment, or how long ago. */
function timeOf(fields: Fields, name: string, now: number): number | undefined {
  const text = fields.text(name, 1);
  if (text === undefined) return undefined;
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) return Math.max(0, now - agoMs);
  const time = TIMESTAMP.test(text) ? Date.parse(text) : Number.NaN;
  if (!(time >= 0)) {
    const rule = "must be a timestamp in UTC like 2026-01-01T00:00:00Z, or a duration like 24h";
    throw invalidField(name, rule);
  }
  return time;
}
