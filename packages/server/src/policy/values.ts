/**
 * Values in a condition: the values of CEL, made from exact JSON.
 *
 * A map holds own keys only, so `__proto__` and `constructor` are keys like any other and
 * nothing is inherited. An integer of 64 bits is a bigint, and a decimal is a double when the
 * double prints as that decimal again. Any other number is a LongNumber, which has a type and can
 * be compared, and nothing else.
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
  | LongNumber
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

/** The result of `type(x)`. */
export class TypeName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A number that neither an int nor a double holds, with every digit it was written with. */
export class LongNumber {
  readonly decimal: Decimal;
  /** The nearest double, which is what most programs make of the number. */
  readonly nearest: number;

  constructor(decimal: Decimal, nearest: number) {
    this.decimal = decimal;
    this.nearest = nearest;
  }
}

export const INT_MIN = -(2n ** 63n);
export const INT_MAX = 2n ** 63n - 1n;

/**
 * An object of the call. Its values are created on access: most conditions read few of many.
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
  if (json instanceof JsonNumber) return exactNumber(json.source) ?? longNumber(json.source);
  if (json instanceof JsonObject) return new JsonMap(json);
  return json instanceof JsonArray ? json.items.map(fromJson) : json;
}

function longNumber(source: string): LongNumber {
  const decimal = readDecimal(source);
  if (decimal === undefined) throw new Error("a JSON number is not a decimal");
  return new LongNumber(decimal, Number(source));
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

/** The number `sign digits * 10 ** exponent`. */
interface Decimal {
  readonly sign: string;
  /** Without zeros at either end; empty for zero. */
  readonly digits: string;
  /** Beyond 2 ** 53 it is rounded: see {@link compareExactly}. */
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

/**
 * Orders two numbers by their exact values. A double counts as the shortest decimal that reads as
 * it, as in JSON, so `0.1` is one tenth.
 *
 * @returns -1, 0 or 1; NaN when one is NaN; undefined when an exponent is too large to be exact
 */
export function compareExactly(left: CelNumber, right: CelNumber): number | undefined {
  const [one, other] = [decimalOf(left), decimalOf(right)];
  if (one === undefined || other === undefined) return compareDoubles(left, right);
  if (!Number.isSafeInteger(one.exponent) || !Number.isSafeInteger(other.exponent))
    return undefined;
  const signs = signOf(one) - signOf(other);
  if (signs !== 0) return Math.sign(signs);
  return signOf(one) * compareMagnitudes(one, other);
}

export type CelNumber = bigint | number | LongNumber;

export function isNumber(value: CelValue): value is CelNumber {
  return typeof value === "bigint" || typeof value === "number" || value instanceof LongNumber;
}

/** @returns undefined for NaN and the infinities */
function decimalOf(value: CelNumber): Decimal | undefined {
  if (value instanceof LongNumber) return value.decimal;
  if (typeof value === "bigint") return readDecimal(String(value));
  // Beyond 2 ** 53 the shortest decimal of a double is another integer than the double itself.
  if (Number.isInteger(value)) return readDecimal(String(BigInt(value)));
  return readDecimal(String(value));
}

/** Every number is less than infinity, also one whose nearest double is infinite. */
function compareDoubles(left: CelNumber, right: CelNumber): number {
  const one = typeof left === "number" ? left : 0;
  const other = typeof right === "number" ? right : 0;
  return compareOrdered(one, other);
}

/** @returns NaN when one is NaN */
export function compareOrdered(left: bigint | number, right: bigint | number): number {
  if (left < right) return -1;
  if (left > right) return 1;
  // biome-ignore lint/suspicious/noDoubleEquals: int and double are one order of numbers
  return left == right ? 0 : Number.NaN;
}

function signOf({ sign, digits }: Decimal): number {
  if (digits === "") return 0;
  return sign === "-" ? -1 : 1;
}

function compareMagnitudes(left: Decimal, right: Decimal): number {
  const places = left.digits.length + left.exponent - (right.digits.length + right.exponent);
  if (places !== 0) return Math.sign(places);
  if (left.digits === right.digits) return 0;
  // Both start with the same place and end without zeros, so they are ordered as text.
  return left.digits < right.digits ? -1 : 1;
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
      if (value instanceof LongNumber) return value.decimal.exponent >= 0 ? "int" : "double";
      return "type";
  }
}
