/**
 * JSON whose exact text matters: what the server writes letter for letter, and what a client shows,
 * hashes and signs. A parser that rounds numbers would change both.
 *
 * @see contract: Resources and their fields (arguments, context)
 */

import { JsonArray, JsonObject, type JsonValue, parseJson } from "@countersign/protocol";

declare const EXACT: unique symbol;

/** A JSON object whose exact text is known: see {@link exactText}. */
export interface ExactObject {
  readonly [EXACT]: never;
}

/** The text of a JSON value that is already written: the server sends it unchanged. */
export class JsonText {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A handler's answer where a client reads `T`: strings and exact objects also as text. */
export type Writable<T> = T extends ExactObject
  ? JsonText
  : T extends string
    ? T | JsonText
    : T extends readonly (infer Item)[]
      ? readonly Writable<Item>[]
      : T extends object
        ? { readonly [Name in keyof T]: Writable<T[Name]> }
        : T;

/** Writes an answer; members that are undefined are left out. */
export function writeJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (value instanceof JsonText) return value.source;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  let members = "";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    if (members !== "") members += ",";
    members += `${writeName(name)}:${writeJson(member)}`;
  }
  return `{${members}}`;
}

/** Almost every name is plain, and the test costs less than JSON.stringify. */
function writeName(name: string): string {
  return /^\w+$/.test(name) ? `"${name}"` : JSON.stringify(name);
}

const sources = new WeakMap<object, string>();

/** Deeper and longer than the server accepts, because an answer wraps what it accepted. */
const ANSWER_LIMITS = { depthMax: 1_000, numberCharsMax: 1_000_000 };

/**
 * Parses JSON into plain values. The exact text of each object and array stays known.
 *
 * @throws Problem when it is not JSON
 */
export function parseExact(text: string): unknown {
  return toPlain(parseJson(text, ANSWER_LIMITS));
}

/** Plain values: numbers are rounded as `JSON.parse` does; the exact text stays known. */
export function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonObject) {
    // Without a prototype, `__proto__` is a member like any other.
    const plain: Record<string, unknown> = Object.create(null);
    for (const [name, member] of value.members) plain[name] = toPlain(member);
    sources.set(plain, value.source);
    return plain;
  }
  if (value instanceof JsonArray) {
    const plain = value.items.map(toPlain);
    sources.set(plain, value.source);
    return plain;
  }
  return typeof value === "object" && value !== null ? Number(value.source) : value;
}

/**
 * The exact text of an object or array that {@link parseExact} or {@link toPlain} returned.
 *
 * @throws Error for any other object
 */
export function exactText(value: object): string {
  const source = sources.get(value);
  if (source === undefined) throw new Error("The exact text of this object is not known.");
  return source;
}
