/**
 * The operators of CEL over exact values. Int and double compare by numeric value, text by code
 * point, and integer overflow is an error.
 *
 * Guarantees: throws only StepsExceeded; returns a Fault for every CEL error.
 *
 * @see CEL specification: Values, Numeric values; Standard definitions
 */

import { Fault, INEXACT_FAULT } from "./fault.ts";
import type { Meter } from "./meter.ts";
import {
  type CelKey,
  type CelMap,
  type CelNumber,
  type CelValue,
  compareExactly,
  compareOrdered,
  Duration,
  INT_MAX,
  INT_MIN,
  isMap,
  isNumber,
  LongNumber,
  Timestamp,
  TypeName,
  typeOf,
} from "./values.ts";

const OVERFLOW = new Fault("the result is beyond 64 bits");
const BY_ZERO = new Fault("division by zero");
const OUT_OF_TIME = new Fault("a time is out of range");

/** Values of different types are not equal. */
export function equals(left: CelValue, right: CelValue, meter: Meter): boolean | Fault {
  meter.spend(1);
  if (left instanceof LongNumber || right instanceof LongNumber) {
    if (!isNumber(left) || !isNumber(right)) return false;
    const order = orderLong(left, right, meter);
    return order instanceof Fault ? order : order === 0;
  }
  if (typeof left === "bigint" || typeof left === "number") {
    // Mixed, JavaScript compares the mathematical values.
    // biome-ignore lint/suspicious/noDoubleEquals: int and double are one order of numbers
    return (typeof right === "bigint" || typeof right === "number") && left == right;
  }
  if (typeof left === "string") {
    if (typeof right !== "string" || left.length !== right.length) return false;
    meter.spend(left.length / 64);
    return left === right;
  }
  if (left === null || typeof left !== "object") return left === right;
  if (right === null || typeof right !== "object") return false;
  if (isList(left)) return isList(right) && equalLists(left, right, meter);
  if (isMap(left)) return isMap(right) && equalMaps(left, right, meter);
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos;
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos;
  return right instanceof TypeName && left.name === right.name;
}

/** Unequal when any pair is unequal; a fault when no pair is unequal and one cannot be compared. */
function equalLists(
  left: readonly CelValue[],
  right: readonly CelValue[],
  meter: Meter,
): boolean | Fault {
  if (left.length !== right.length) return false;
  let fault: Fault | undefined;
  for (let index = 0; index < left.length; index++) {
    const equal = equals(left[index] ?? null, right[index] ?? null, meter);
    if (equal === false) return false;
    if (equal instanceof Fault) fault = equal;
  }
  return fault ?? true;
}

function equalMaps(left: CelMap, right: CelMap, meter: Meter): boolean | Fault {
  if (left.size !== right.size) return false;
  let fault: Fault | undefined;
  for (const [key, value] of left) {
    const other = right.get(key);
    if (other === undefined) return false;
    const equal = equals(value, other, meter);
    if (equal === false) return false;
    if (equal instanceof Fault) fault = equal;
  }
  return fault ?? true;
}

/** `value in list`, `key in map`. */
export function contains(value: CelValue, container: CelValue, meter: Meter): boolean | Fault {
  if (isMap(container)) {
    const key = keyOf(value);
    return key instanceof Fault ? key : key !== undefined && container.has(key);
  }
  if (!isList(container)) return noOverload(value, "in", container);
  let fault: Fault | undefined;
  for (const item of container) {
    const equal = equals(value, item, meter);
    if (equal === true) return true;
    if (equal instanceof Fault) fault = equal;
  }
  return fault ?? false;
}

/** @returns undefined for a value that no map can have as a key */
export function keyOf(value: CelValue): CelKey | undefined | Fault {
  switch (typeof value) {
    case "string":
    case "bigint":
    case "boolean":
      return value;
    case "number":
      return Number.isSafeInteger(value) ? BigInt(value) : undefined;
    default:
      if (value instanceof LongNumber) return INEXACT_FAULT;
      return new Fault(`a key cannot be of type ${typeOf(value)}`);
  }
}

/** -1, 0 or 1; NaN for values without an order. */
export function compare(
  left: CelValue,
  right: CelValue,
  operator: string,
  meter: Meter,
): number | Fault {
  meter.spend(1);
  if (isNumber(left) && isNumber(right)) {
    if (left instanceof LongNumber || right instanceof LongNumber) {
      return orderLong(left, right, meter);
    }
    return compareOrdered(left, right);
  }
  if (typeof left === "string" && typeof right === "string") {
    meter.spend(Math.min(left.length, right.length) / 8);
    return compareText(left, right);
  }
  if (typeof left === "boolean" && typeof right === "boolean") {
    return Number(left) - Number(right);
  }
  if (left instanceof Timestamp && right instanceof Timestamp) {
    return compareOrdered(left.nanos, right.nanos);
  }
  if (left instanceof Duration && right instanceof Duration) {
    return compareOrdered(left.nanos, right.nanos);
  }
  return noOverload(left, operator, right);
}

/**
 * Compares numbers when at least one is long. The result requires that the exact numbers and their
 * nearest doubles have the same order, because the tool may read them as doubles.
 */
function orderLong(left: CelNumber, right: CelNumber, meter: Meter): number | Fault {
  meter.spend((digitsOf(left) + digitsOf(right)) / 64);
  const exact = compareExactly(left, right);
  if (exact === undefined) return INEXACT_FAULT;
  return exact === compareOrdered(nearest(left), nearest(right)) ? exact : INEXACT_FAULT;
}

function nearest(value: CelNumber): number {
  return value instanceof LongNumber ? value.nearest : Number(value);
}

function digitsOf(value: CelNumber): number {
  return value instanceof LongNumber ? value.decimal.digits.length : 1;
}

/** By code point: in UTF-16 units, an emoji would sort before U+FFFD. */
function compareText(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const difference = left.charCodeAt(at) - right.charCodeAt(at);
    if (difference === 0) continue;
    const surrogates = isSurrogate(left, at) !== isSurrogate(right, at);
    if (surrogates) return isSurrogate(left, at) ? 1 : -1;
    return Math.sign(difference);
  }
  return Math.sign(left.length - right.length);
}

function isSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdfff;
}

type Arithmetic = "+" | "-" | "*" | "/" | "%";

export function calculate(
  left: CelValue,
  operator: Arithmetic,
  right: CelValue,
  meter: Meter,
): CelValue | Fault {
  meter.spend(1);
  if (typeof left === "bigint" && typeof right === "bigint") return integers(left, operator, right);
  if (typeof left === "number" && typeof right === "number" && operator !== "%") {
    return doubles(left, operator, right);
  }
  if (operator === "+") return joined(left, right, meter) ?? times(left, operator, right);
  return times(left, operator, right);
}

function integers(left: bigint, operator: Arithmetic, right: bigint): bigint | Fault {
  switch (operator) {
    case "+":
      return within(left + right);
    case "-":
      return within(left - right);
    case "*":
      return within(left * right);
    case "/":
      return right === 0n ? BY_ZERO : within(left / right);
    case "%":
      return right === 0n ? BY_ZERO : left % right;
  }
}

function within(result: bigint): bigint | Fault {
  return result >= INT_MIN && result <= INT_MAX ? result : OVERFLOW;
}

function doubles(left: number, operator: "+" | "-" | "*" | "/", right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return left / right;
  }
}

function joined(left: CelValue, right: CelValue, meter: Meter): CelValue | undefined {
  if (typeof left === "string" && typeof right === "string") {
    meter.spend((left.length + right.length) / 8);
    return left + right;
  }
  if (isList(left) && isList(right)) {
    meter.spend(left.length + right.length);
    return [...left, ...right];
  }
  return undefined;
}

function times(left: CelValue, operator: Arithmetic, right: CelValue): CelValue | Fault {
  const plus = operator === "+";
  if (!plus && operator !== "-") return noOverload(left, operator, right);
  if (left instanceof Timestamp && right instanceof Duration) {
    return timestamp(plus ? left.nanos + right.nanos : left.nanos - right.nanos);
  }
  if (plus && left instanceof Duration && right instanceof Timestamp) {
    return timestamp(left.nanos + right.nanos);
  }
  if (!plus && left instanceof Timestamp && right instanceof Timestamp) {
    return duration(left.nanos - right.nanos);
  }
  if (left instanceof Duration && right instanceof Duration) {
    return duration(plus ? left.nanos + right.nanos : left.nanos - right.nanos);
  }
  return noOverload(left, operator, right);
}

export function negate(value: CelValue): CelValue | Fault {
  if (typeof value === "bigint") return within(-value);
  if (typeof value === "number") return -value;
  return value instanceof LongNumber ? INEXACT_FAULT : new Fault(`no -${typeOf(value)}`);
}

/** 0001-01-01 to the end of 9999. */
const TIMESTAMP_MIN = -62_135_596_800_000_000_000n;
const TIMESTAMP_MAX = 253_402_300_799_999_999_999n;
/** Ten thousand years. */
const DURATION_MAX = 315_576_000_000_000_000_000n;

export function timestamp(nanos: bigint): Timestamp | Fault {
  return nanos >= TIMESTAMP_MIN && nanos <= TIMESTAMP_MAX ? new Timestamp(nanos) : OUT_OF_TIME;
}

export function duration(nanos: bigint): Duration | Fault {
  return nanos >= -DURATION_MAX && nanos <= DURATION_MAX ? new Duration(nanos) : OUT_OF_TIME;
}

/** `container[index]`. */
export function itemAt(container: CelValue, index: CelValue): CelValue | Fault {
  if (isMap(container)) {
    const key = keyOf(index);
    if (key instanceof Fault) return key;
    return (key === undefined ? undefined : container.get(key)) ?? absent(container, key);
  }
  if (!isList(container)) {
    return container instanceof LongNumber
      ? INEXACT_FAULT
      : new Fault(`nothing can be indexed in a value of type ${typeOf(container)}`);
  }
  const at = typeof index === "bigint" ? Number(index) : index;
  if (typeof at !== "number" || !Number.isSafeInteger(at)) {
    return index instanceof LongNumber
      ? INEXACT_FAULT
      : new Fault(`an index into a list cannot be of type ${typeOf(index)}`);
  }
  const item = container[at];
  return item === undefined ? NO_ITEM : item;
}

const NO_ITEM = new Fault("the index is beyond the list");
const NO_KEY = new Fault("there is no such key");

/** A key with the value null exists. */
function absent(map: CelMap, key: CelKey | undefined): CelValue | Fault {
  return key !== undefined && map.has(key) ? null : NO_KEY;
}

export function isList(value: CelValue): value is readonly CelValue[] {
  return Array.isArray(value);
}

function noOverload(left: CelValue, operator: string, right: CelValue): Fault {
  if (left instanceof LongNumber || right instanceof LongNumber) return INEXACT_FAULT;
  return new Fault(`no ${typeOf(left)} ${operator} ${typeOf(right)}`);
}
