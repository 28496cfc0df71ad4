/**
 * Compares two submitted values: numbers by exact decimal value, strings by their decoded code
 * points (no Unicode normalization), objects without regard to key order. White space and spelling
 * are irrelevant, and nothing is rounded.
 *
 * @see contract: Endpoints, POST /v1/requests ("same key and same input")
 */

import { JsonArray, JsonNumber, JsonObject, type JsonValue } from "./json.ts";

/** Compares two JSON values. Numbers are equal if their values are, such as 1.0 and 1. */
export function equalJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true;
  if (a instanceof JsonNumber) return b instanceof JsonNumber && equalNumber(a.source, b.source);
  if (a instanceof JsonArray) return b instanceof JsonArray && equalItems(a.items, b.items);
  if (a instanceof JsonObject) return b instanceof JsonObject && equalMembers(a, b);
  return false;
}

function equalItems(a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  return a.length === b.length && a.every((item, i) => equalJson(item, b[i] as JsonValue));
}

function equalMembers(a: JsonObject, b: JsonObject): boolean {
  if (a.members.size !== b.members.size) return false;
  for (const [key, value] of a.members) {
    const other = b.members.get(key);
    if (other === undefined || !equalJson(value, other)) return false;
  }
  return true;
}

/** Compares two JSON number tokens as exact decimals, in time linear in their length. */
export function equalNumber(a: string, b: string): boolean {
  return a === b || canonicalNumber(a) === canonicalNumber(b);
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * The canonical spelling of a number: sign, coefficient without outer zeros, decimal exponent.
 * `100`, `1E2` and `100.0` are all `1e2`; every zero is `0`. The value is never expanded, so
 * `1e999999999` costs no more than `1e9`.
 *
 * @param source a JSON number token
 */
export function canonicalNumber(source: string): string {
  const match = NUMBER.exec(source);
  if (match === null) throw new TypeError("not a JSON number token");
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = trimLeadingZeros(whole + fraction);
  if (digits === "") return "0";
  const coefficient = trimTrailingZeros(digits);
  const dropped = digits.length - coefficient.length;
  const scale = BigInt(exponent) - BigInt(fraction.length) + BigInt(dropped);
  return `${sign}${coefficient}e${scale}`;
}

function trimLeadingZeros(digits: string): string {
  let from = 0;
  while (digits[from] === "0") from++;
  return digits.slice(from);
}

function trimTrailingZeros(digits: string): string {
  let to = digits.length;
  while (digits[to - 1] === "0") to--;
  return digits.slice(0, to);
}

/**
 * The canonical text of a value: equal if and only if {@link equalJson} returns true. Keys are
 * sorted by code unit, numbers are canonical. Use it for fingerprints of inputs that must not be
 * stored. Never display or echo it.
 */
export function canonicalJson(value: JsonValue): string {
  if (value instanceof JsonNumber) return canonicalNumber(value.source);
  if (value instanceof JsonArray) return `[${value.items.map(canonicalJson).join(",")}]`;
  if (value instanceof JsonObject) {
    const keys = [...value.members.keys()].sort();
    const members = keys.map((key) => {
      const member = canonicalJson(value.members.get(key) as JsonValue);
      return `${JSON.stringify(key)}:${member}`;
    });
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}
