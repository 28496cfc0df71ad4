/**
 * What a condition computes with: the values of CEL, made from exact JSON.
 *
 * A map is a Map with own keys only, so `__proto__` and `constructor` are keys like any other and
 * nothing is inherited. An integer is a bigint, a decimal is a double only when the double prints
 * as that decimal again, and any other number is INEXACT: every operation that meets it fails, and
 * whoever holds it marks the whole call.
 *
 * Called by: evaluate.ts for the call; the rest of policy/ for the types.
 */

import { JsonArray, JsonNumber, type JsonObject, type JsonValue } from "@countersign/protocol";

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

export type CelMap = ReadonlyMap<CelKey, CelValue>;
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

/** A number that neither an int nor a double holds, or a value nested too deep to look at. */
export class Inexact {
  readonly reason = "a number of the call cannot be held exactly";
}

export const INEXACT = new Inexact();

export const INT_MIN = -(2n ** 63n);
export const INT_MAX = 2n ** 63n - 1n;

/** Far beyond what the contract's surface lets in; recursion is safe up to here. */
const DEPTH_MAX = 500;

export interface Converted {
  readonly value: CelValue;
  /** Whether INEXACT is anywhere in it. */
  readonly inexact: boolean;
}

export function fromJson(json: JsonValue): Converted {
  const conversion = new Conversion();
  const value = conversion.convert(json, 0);
  return { value, inexact: conversion.inexact };
}

class Conversion {
  inexact = false;

  convert(json: JsonValue, depth: number): CelValue {
    if (json instanceof JsonNumber) return this.#exact(exactNumber(json.source));
    if (json === null || typeof json !== "object") return json;
    if (depth >= DEPTH_MAX) return this.#exact(undefined);
    if (json instanceof JsonArray) {
      return json.items.map((item) => this.convert(item, depth + 1));
    }
    return this.#map(json, depth);
  }

  #map(json: JsonObject, depth: number): CelMap {
    const map = new Map<CelKey, CelValue>();
    for (const [key, value] of json.members) map.set(key, this.convert(value, depth + 1));
    return map;
  }

  #exact(value: bigint | number | undefined): CelValue {
    if (value !== undefined) return value;
    this.inexact = true;
    return INEXACT;
  }
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
      if (value instanceof Map) return "map";
      if (Array.isArray(value)) return "list";
      if (value instanceof Timestamp) return "google.protobuf.Timestamp";
      if (value instanceof Duration) return "google.protobuf.Duration";
      return value instanceof TypeName ? "type" : "number";
  }
}
