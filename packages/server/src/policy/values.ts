/**
 * What a condition computes with: the values of CEL, made from exact JSON.
 *
 * A map holds own keys only, so `__proto__` and `constructor` are keys like any other and
 * nothing is inherited. An integer is a bigint, a decimal is a double only when the double prints
 * as that decimal again, and any other number is INEXACT: every operation that meets it fails, and
 * whoever holds it marks the whole call.
 *
 * Called by: evaluate.ts for the call; the rest of policy/ for the types.
 */

import { JsonArray, JsonNumber, JsonObject, type JsonValue } from "@countersign/protocol";

export type CelValue =
  | null
  | boolean
  | string
  | bigint
  | number
  | Timestamp
  | Duration
  | TypeName
  | Inexact
  | readonly CelValue[]
  | CelMap;

export interface CelMap {
  readonly size: number;
  has(key: CelKey): boolean;
  get(key: CelKey): CelValue | undefined;
  keys(): Iterable<CelKey>;
  [Symbol.iterator](): Iterator<readonly [CelKey, CelValue]>;
}
export type CelKey = string | bigint | boolean;

export class Timestamp {
  /** Since 1970, in nanoseconds. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** What `type(x)` says. */
export class TypeName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A number that neither an int nor a double holds. */
export class Inexact {
  readonly kind = "inexact";
}

export const INEXACT = new Inexact();

export const INT_MIN = -(2n ** 63n);
export const INT_MAX = 2n ** 63n - 1n;

/**
 * An object of the call. Its values are made when they are asked for: most conditions look at few
 * of many.
 */
export class JsonMap implements CelMap {
  readonly #members: ReadonlyMap<string, JsonValue>;
  /** Numbers, lists and maps that were asked for. */
  readonly #made = new Map<string, CelValue>();

  constructor(object: JsonObject) {
    this.#members = object.members;
  }

  get size(): number {
    return this.#members.size;
  }

  has(key: CelKey): boolean {
    return typeof key === "string" && this.#members.has(key);
  }

  get(key: CelKey): CelValue | undefined {
    if (typeof key !== "string") return undefined;
    const json = this.#members.get(key);
    if (json === undefined || json === null || typeof json !== "object") return json;
    let made = this.#made.get(key);
    if (made === undefined) {
      made = fromJson(json);
      this.#made.set(key, made);
    }
    return made;
  }

  keys(): Iterable<CelKey> {
    return this.#members.keys();
  }

  *[Symbol.iterator](): Iterator<readonly [CelKey, CelValue]> {
    for (const key of this.#members.keys()) yield [key, this.get(key) ?? null];
  }
}

/** The value as conditions see it. */
export function fromJson(json: JsonValue): CelValue {
  if (json instanceof JsonNumber) return exactNumber(json.source) ?? INEXACT;
  if (json instanceof JsonObject) return new JsonMap(json);
  return json instanceof JsonArray ? json.items.map(fromJson) : json;
}

/** More digits than every double keeps, or an exponent: in a number or in some text. */
const MAYBE_INEXACT = /[0-9][0-9.]{15}|[0-9][eE]/;

/** Whether there is a number anywhere in the object that cannot be held exactly. */
export function hasInexact(object: JsonObject): boolean {
  if (!MAYBE_INEXACT.test(object.source)) return false;
  const open: JsonValue[] = [object];
  for (let json = open.pop(); json !== undefined; json = open.pop()) {
    if (json instanceof JsonNumber) {
      if (exactNumber(json.source) === undefined) return true;
    } else if (json instanceof JsonArray) {
      for (const item of json.items) open.push(item);
    } else if (json instanceof JsonObject) {
      for (const member of json.members.values()) open.push(member);
    }
  }
  return false;
}

const SHORT_INTEGER = /^-?[0-9]{1,15}$/;
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * Reads a number of JSON or of CEL: `5e3` and `5000.0` are the integer 5000, `-0` is 0.
 *
 * @returns undefined when it is an integer beyond 64 bits, or a decimal that comes back as
 *   another one from a double; never a rounded number
 */
export function exactNumber(source: string): bigint | number | undefined {
  if (SHORT_INTEGER.test(source)) return BigInt(source);
  const decimal = readDecimal(source);
  if (decimal === undefined) return undefined;
  const { sign, digits, exponent } = decimal;
  if (digits === "") return 0n;
  if (exponent >= 0) {
    if (digits.length + exponent > 19) return undefined;
    const integer = BigInt(sign + digits) * 10n ** BigInt(exponent);
    return integer >= INT_MIN && integer <= INT_MAX ? integer : undefined;
  }
  return isExactDouble(source) ? Number(source) : undefined;
}

/** Whether the double next to the decimal prints as that decimal again. */
export function isExactDouble(source: string): boolean {
  const there = readDecimal(source);
  const back = readDecimal(String(Number(source)));
  if (there === undefined || back === undefined || there.digits !== back.digits) return false;
  return there.digits === "" || there.exponent === back.exponent;
}

interface Decimal {
  readonly sign: string;
  /** Without zeros at either end. */
  readonly digits: string;
  readonly exponent: number;
}

function readDecimal(source: string): Decimal | undefined {
  const parts = DECIMAL.exec(source);
  if (parts === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = parts;
  const all = whole + fraction;
  let start = 0;
  while (all.charCodeAt(start) === 0x30) start++;
  let end = all.length;
  while (end > start && all.charCodeAt(end - 1) === 0x30) end--;
  const trailing = all.length - end;
  return {
    sign,
    digits: all.slice(start, end),
    exponent: Number(exponent) - fraction.length + trailing,
  };
}

export function isMap(value: CelValue): value is CelMap {
  return value instanceof JsonMap || value instanceof Map;
}

/** @returns the name CEL has for the type of the value */
export function typeOf(value: CelValue): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "boolean":
      return "bool";
    default:
      if (value === null) return "null_type";
      if (isMap(value)) return "map";
      if (Array.isArray(value)) return "list";
      if (value instanceof Timestamp) return "google.protobuf.Timestamp";
      if (value instanceof Duration) return "google.protobuf.Duration";
      return value instanceof TypeName ? "type" : "number";
  }
}
