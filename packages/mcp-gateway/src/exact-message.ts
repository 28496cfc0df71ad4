/**
 * JSON-RPC messages in which every piece keeps its exact text. The gateway splits and joins
 * messages, and never serializes them again: 9007199254740993 is not rounded, and the server
 * receives exactly the approved arguments.
 *
 * Promises: JSON that two parsers could read differently (duplicate keys, lone surrogates) is
 * rejected before it is processed.
 *
 * @see ADR 0021
 */

import {
  JsonArray,
  JsonNumber,
  JsonObject,
  type JsonValue,
  Problem,
  parseJson,
} from "@countersign/protocol";

/** A piece of JSON of which only the text matters. */
export interface Exact {
  readonly source: string;
}

export interface RequestMessage<P extends Exact = Exact> {
  readonly kind: "request";
  /** Its JSON: a number as it was spelled, or a string in quotes. */
  readonly id: string;
  readonly method: string;
  readonly params: P | undefined;
}

export interface NotificationMessage<P extends Exact = Exact> {
  readonly kind: "notification";
  readonly method: string;
  readonly params: P | undefined;
}

/** The reply to a request: its result, or its error, as JSON. */
export interface Reply<P extends Exact = Exact> {
  readonly outcome: "result" | "error";
  readonly value: P;
}

export interface ResponseMessage<P extends Exact = Exact> extends Reply<P> {
  readonly kind: "response";
  readonly id: string;
}

export type Message<P extends Exact = Exact> =
  | RequestMessage<P>
  | NotificationMessage<P>
  | ResponseMessage<P>;

/** As it was received. */
export type Received = Message<JsonObject>;

/** Error codes of JSON-RPC, and of MCP. */
export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  unavailable: -32000,
  resourceNotFound: -32002,
} as const;

/** The most messages that MCP SDKs accept in one batch. */
const BATCH_MAX = 100;

/** Servers may nest more than a provider accepts; the gateway does not submit results. */
const SERVER_LIMITS = { depthMax: 500, numberCharsMax: 10_000 };

/**
 * @param text of a client: one message or a batch
 * @throws Problem when it is not JSON, or no message
 */
export function readMessages(text: string): Received[] {
  return messagesOf(onOneLine(text, parseJson(text), (line) => parseJson(line)));
}

/**
 * As {@link readMessages}, of a server. A result with half of a character in it, as programs make
 * that cut texts, is not lost: its tool has run. It is read the way `JSON.parse` reads, and
 * `isExact` says that it was.
 */
export function readServerMessages(text: string): { messages: Received[]; isExact: boolean } {
  const strict = (line: string) => parseJson(line, SERVER_LIMITS);
  try {
    return { messages: messagesOf(onOneLine(text, strict(text), strict)), isExact: true };
  } catch {
    const normalized = JSON.stringify(parseLoosely(text));
    return { messages: messagesOf(strict(normalized)), isExact: false };
  }
}

/** @throws Problem */
function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown) => {
      return typeof value === "string" ? value.toWellFormed() : value;
    });
  } catch {
    throw new Problem("invalid_json", "The message is not JSON.", { param: "body" });
  }
}

/**
 * Every message is one line. In valid JSON, line breaks are only between tokens, where a space has
 * the same meaning. Invalid JSON stays unchanged.
 */
function onOneLine(text: string, valid: JsonValue, read: (line: string) => JsonValue): JsonValue {
  return /[\r\n]/.test(text) ? read(text.replace(/[\r\n]/g, " ")) : valid;
}

function messagesOf(json: JsonValue): Received[] {
  if (!(json instanceof JsonArray)) return [messageOf(json)];
  if (json.items.length === 0 || json.items.length > BATCH_MAX) {
    throw invalid(`a batch must have 1 to ${BATCH_MAX} messages`);
  }
  return json.items.map(messageOf);
}

function messageOf(json: JsonValue): Received {
  if (!(json instanceof JsonObject)) throw invalid("a message must be an object");
  const { members } = json;
  if (members.get("jsonrpc") !== "2.0") throw invalid('jsonrpc must be "2.0"');
  const id = idOf(members.get("id"));
  const method = members.get("method");
  if (method !== undefined) {
    if (typeof method !== "string") throw invalid("method must be a string");
    const params = members.get("params");
    if (params !== undefined && !(params instanceof JsonObject)) {
      throw invalid("params must be an object");
    }
    if (!members.has("id")) return { kind: "notification", method, params };
    if (id === undefined) throw invalid("the id of a request must be a string or a number");
    return { kind: "request", id, method, params };
  }
  const result = members.get("result");
  const error = members.get("error");
  const value = result ?? error;
  if (!(value instanceof JsonObject) || (result !== undefined && error !== undefined)) {
    throw invalid("a message must have a method, a result or an error");
  }
  // An error about something that could not be read has no id; it answers nothing.
  const outcome = result === undefined ? "error" : "result";
  return { kind: "response", id: id ?? "null", outcome, value };
}

/** Its JSON, by which ids are compared. */
function idOf(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return JSON.stringify(value);
  return value instanceof JsonNumber ? value.source : undefined;
}

function invalid(rule: string): Problem {
  return new Problem("invalid_request", `Invalid JSON-RPC message: ${rule}.`);
}

export function writeMessage(message: Message): string {
  const id = message.kind === "notification" ? "" : `"id":${message.id},`;
  if (message.kind === "response") {
    return `{"jsonrpc":"2.0",${id}"${message.outcome}":${message.value.source}}`;
  }
  const params = message.params === undefined ? "" : `,"params":${message.params.source}`;
  return `{"jsonrpc":"2.0",${id}"method":${JSON.stringify(message.method)}${params}}`;
}

/** The exact text of a value inside of a message. */
export function sourceOf(value: JsonValue): string {
  if (value instanceof JsonObject || value instanceof JsonArray || value instanceof JsonNumber) {
    return value.source;
  }
  return JSON.stringify(value);
}

/**
 * The object with some members in other words: JSON text to write, or undefined to leave out. All
 * others keep their text.
 */
export function withMembers(
  object: JsonObject | undefined,
  changes: Readonly<Record<string, string | undefined>>,
): Exact {
  const members = new Map<string, string>();
  for (const [key, value] of object?.members ?? []) members.set(key, sourceOf(value));
  for (const [key, text] of Object.entries(changes)) {
    if (text === undefined) members.delete(key);
    else members.set(key, text);
  }
  const written = [...members].map(([key, text]) => `${JSON.stringify(key)}:${text}`);
  return { source: `{${written.join(",")}}` };
}

/** Of values that are ours, in which nothing can be lost. */
export function exact(value: unknown): Exact {
  return { source: JSON.stringify(value) };
}

export function resultOf(value: Exact): Reply {
  return { outcome: "result", value };
}

export function errorOf(code: number, message: string): Reply {
  return { outcome: "error", value: exact({ code, message }) };
}

/** A result that states to the model why its tool did not run. */
export function toolError(text: string): Reply {
  return resultOf(exact({ content: [{ type: "text", text }], isError: true }));
}

/** A member that is an object; undefined for anything else. */
export function objectIn(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = object?.members.get(key);
  return value instanceof JsonObject ? value : undefined;
}

/** A member that is a string; undefined for anything else. */
export function textIn(object: JsonObject | undefined, key: string): string | undefined {
  const value = object?.members.get(key);
  return typeof value === "string" ? value : undefined;
}

/** The objects of a member that is a list. */
export function objectsIn(object: JsonObject | undefined, key: string): readonly JsonObject[] {
  const value = object?.members.get(key);
  if (!(value instanceof JsonArray)) return [];
  return value.items.filter((item) => item instanceof JsonObject);
}
