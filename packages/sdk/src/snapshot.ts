/**
 * A snapshot of a call's arguments: a frozen copy, and its exact JSON for the provider. Both are
 * created together, so they cannot differ. The tool receives a mutable copy of the frozen one.
 *
 * Promises: rejects values that JSON would silently change (dates, NaN, class instances, array
 * holes, lone surrogates). Both copies omit undefined members.
 */

import {
  canonicalNumber,
  JsonArray,
  JsonNumber,
  JsonObject,
  type JsonValue,
  Problem,
  parseJson,
} from "@countersign/protocol";
import { SdkError } from "./errors.ts";

export interface Snapshot<A extends object> {
  /** Deeply frozen. If the original is a JsonObject, this is a new JsonObject of its text. */
  readonly value: A;
  readonly json: JsonObject;
}

/** Far above the limits of providers. Detects cycles. */
const DEPTH_MAX = 100;

/**
 * @param original a plain object of JSON values (bigints and JsonNumbers are written exactly), or a
 *   JsonObject, which is submitted as its exact text
 * @param name name of the value in error messages
 * @throws SdkError `invalid_call` with the path of the invalid value
 */
export function snapshot<A extends object>(original: A, name: string): Snapshot<A> {
  if (original instanceof JsonObject) {
    // The caller can change the members of the original, but not of this copy.
    const json = readText(original.source, name);
    return { value: json as object as A, json };
  }
  const value = copy(original, name, 1);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(name, "must be an object");
  }
  return { value: value as A, json: readText(write(value), name) };
}

/**
 * @param value of a {@link Snapshot}
 * @returns a copy that a tool may change; a JsonObject stays as it is, because its text is exact
 */
export function mutableCopy<A extends object>(value: A): A {
  return thaw(value) as A;
}

function thaw(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(thaw);
  if (typeof value !== "object" || value === null || !isPlain(value)) return value;
  const result = {};
  for (const [key, member] of Object.entries(value)) {
    Object.defineProperty(result, key, {
      value: thaw(member),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return result;
}

/** Like {@link snapshot}, from the JSON text of an earlier snapshot. */
export function snapshotOfText(text: string, isExact: boolean, name: string): Snapshot<object> {
  const json = readText(text, name);
  return { value: isExact ? json : (toPlain(json) as object), json };
}

function readText(text: string, name: string): JsonObject {
  try {
    const json = parseJson(text);
    if (json instanceof JsonObject) return json;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw invalid(name, `cannot be submitted: ${error.message}`);
  }
  throw invalid(name, "must be an object");
}

/** @param depth of the value, 1 for the outermost */
function copy(value: unknown, path: string, depth: number): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "bigint":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw invalid(path, "must be a finite number");
    case "object":
      break;
    default:
      throw invalid(path, `is of type ${typeof value}; only JSON values are allowed`);
  }
  if (value === null) return value;
  if (value instanceof JsonNumber) return exactNumber(value, path);
  if (depth > DEPTH_MAX)
    throw invalid(
      path.slice(0, 200),
      `is nested more than ${DEPTH_MAX} levels deep or contains a cycle`,
    );
  if (Array.isArray(value)) {
    // Array.from visits holes; map skips them.
    const items = Array.from(value, (item: unknown, i) => copy(item, `${path}[${i}]`, depth + 1));
    return Object.freeze(items);
  }
  if (!isPlain(value)) {
    const name = String(value.constructor?.name || "class instance");
    const fix =
      value instanceof Date
        ? "submit its toISOString() and parse it in the tool (zod: z.iso.datetime(), not z.date())"
        : "convert it to JSON values that the reviewer reads";
    throw invalid(path, `is a ${name}, not a plain object; ${fix}`);
  }
  const result = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    setMember(result, key, copy(member, `${path}.${key}`, depth + 1));
  }
  return Object.freeze(result);
}

/** A program can create a JsonNumber of any text. Text with a comma would add members. */
function exactNumber({ source }: JsonNumber, path: string): JsonNumber {
  try {
    const number = parseJson(source);
    if (number instanceof JsonNumber) return Object.freeze(number);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  throw invalid(path, "is a JsonNumber with text that is not a valid number");
}

/** Also accepts plain objects of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Defines the member, because an assignment to `__proto__` would set the prototype. */
function setMember(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true });
}

function write(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (value instanceof JsonNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([key, member]) => {
      return `${JSON.stringify(key)}:${write(member)}`;
    });
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}

/**
 * Converts JSON to ordinary frozen values. A number that a double cannot represent exactly stays a
 * JsonNumber.
 */
export function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) {
    const number = Number(value.source);
    const isExact =
      Number.isFinite(number) && canonicalNumber(String(number)) === canonicalNumber(value.source);
    return isExact ? number : Object.freeze(value);
  }
  if (value instanceof JsonArray) return Object.freeze(value.items.map(toPlain));
  if (!(value instanceof JsonObject)) return value;
  const result = {};
  for (const [key, member] of value.members) setMember(result, key, toPlain(member));
  return Object.freeze(result);
}

function invalid(path: string, what: string): SdkError {
  return new SdkError("invalid_call", `${path} ${what}.`);
}
