/**
 * The functions that conditions may call. Excluded on purpose: `matches` (its expressions
 * backtrack), functions that grow text without bound, and functions with different results in two
 * engines. `glob`, `within`, `hour` and `weekday` are extensions.
 *
 * Guarantees: throws only StepsExceeded; linear in the values that it reads.
 */

import { Fault, INEXACT_FAULT } from "./fault.ts";
import { matchesGlob, readGlob } from "./glob.ts";
import { indexWithin } from "./linear-search.ts";
import type { Meter } from "./meter.ts";
import { isList } from "./operators.ts";
import { isWithin } from "./paths.ts";
import {
  DURATION_PARTS,
  dateOf,
  readDuration,
  readTimestamp,
  readZone,
  TIMESTAMP_PARTS,
} from "./times.ts";
import {
  type CelValue,
  Duration,
  INT_MAX,
  INT_MIN,
  isExactDouble,
  isMap,
  LongNumber,
  Timestamp,
  TypeName,
  typeOf,
} from "./values.ts";

type Apply = (operands: readonly CelValue[], meter: Meter) => CelValue | Fault;

export interface PolicyFunction {
  /** Permitted numbers of operands, including the receiver. */
  readonly free: readonly number[];
  readonly method: readonly number[];
  readonly apply: Apply;
}

const NOT_EXACT = new Fault("the number cannot be converted exactly");
const NO_NUMBER = new Fault("the text is not a number");
const NO_FOLDER = new Fault("the folder is empty or contains ..");
const LONG_PATTERN = new Fault("the pattern is too long or ends in a lone backslash");

function free(operands: number, apply: Apply): PolicyFunction {
  return { free: [operands], method: [], apply };
}

function method(operands: number, apply: Apply): PolicyFunction {
  return { free: [], method: [operands], apply };
}

/** A method of two strings. */
function ofTexts(name: string, apply: (left: string, right: string) => CelValue): PolicyFunction {
  return method(2, ([left = null, right = null], meter) => {
    if (typeof left !== "string" || typeof right !== "string") return refused(name, left, right);
    meter.spend((left.length + right.length) / 32);
    return apply(left, right);
  });
}

/** A method of one string. */
function ofText(name: string, apply: (text: string) => CelValue): PolicyFunction {
  return method(1, ([text = null], meter) => {
    if (typeof text !== "string") return refused(name, text);
    meter.spend(text.length / 16);
    return apply(text);
  });
}

const functions: [string, PolicyFunction][] = [
  ["size", { free: [1], method: [1], apply: size }],
  ["contains", ofTexts("contains", (text, part) => indexWithin(text, part, 0) !== -1)],
  ["startsWith", ofTexts("startsWith", (text, start) => text.startsWith(start))],
  ["endsWith", ofTexts("endsWith", (text, end) => text.endsWith(end))],
  ["lowerAscii", ofText("lowerAscii", lowerAscii)],
  ["upperAscii", ofText("upperAscii", upperAscii)],
  ["glob", free(2, glob)],
  ["within", free(2, within)],
  ["int", free(1, toInt)],
  ["double", free(1, toDouble)],
  ["string", free(1, toText)],
  ["type", free(1, ([value = null]) => new TypeName(typeOf(value)))],
  ["dyn", free(1, ([value = null]) => value)],
  ["timestamp", free(1, toTimestamp)],
  ["duration", free(1, toDuration)],
];

for (const name of new Set([...Object.keys(TIMESTAMP_PARTS), ...Object.keys(DURATION_PARTS)])) {
  functions.push([name, method(1, ([value = null]) => partOf(name, value))]);
}

/** By name. A Map, so that inherited names are not found. */
export const FUNCTIONS: ReadonlyMap<string, PolicyFunction> = new Map(functions);

/** Functions with a literal time zone as the second operand. */
export const ZONED_FUNCTIONS: ReadonlySet<string> = new Set(["hour", "weekday"]);

/** `hour(time, zone)` and `weekday(time, zone)` for one zone; undefined: unknown zone. */
export function functionInZone(name: string, zoneName: string): Apply | undefined {
  const zone = readZone(zoneName);
  if (zone === undefined) return undefined;
  return ([time = null], meter) => {
    meter.spend(100);
    if (!(time instanceof Timestamp)) return refused(name, time);
    const date = dateOf(time);
    return BigInt(name === "hour" ? zone.hour(date) : zone.weekday(date));
  };
}

function refused(name: string, ...operands: CelValue[]): Fault {
  if (operands.some((operand) => operand instanceof LongNumber)) return INEXACT_FAULT;
  return new Fault(`no ${name}(${operands.map(typeOf).join(", ")})`);
}

function size([value = null]: readonly CelValue[], meter: Meter): CelValue | Fault {
  if (isList(value)) return BigInt(value.length);
  if (isMap(value)) return BigInt(value.size);
  if (typeof value !== "string") return refused("size", value);
  meter.spend(value.length / 8);
  let points = 0;
  for (let at = 0; at < value.length; at++) {
    points++;
    if ((value.codePointAt(at) ?? 0) > 0xffff) at++;
  }
  return BigInt(points);
}

/** The library's function would also lower-case `İ` and the Kelvin sign into ASCII letters. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function upperAscii(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

function glob([text = null, pattern = null]: readonly CelValue[], meter: Meter): CelValue | Fault {
  if (typeof text !== "string" || typeof pattern !== "string") {
    return refused("glob", text, pattern);
  }
  meter.spend(pattern.length);
  const read = readGlob(pattern);
  return read === undefined ? LONG_PATTERN : matchesGlob(read, text, meter);
}

function within([path = null, folder = null]: readonly CelValue[], meter: Meter): CelValue | Fault {
  if (typeof path !== "string" || typeof folder !== "string") {
    return refused("within", path, folder);
  }
  meter.spend((path.length + folder.length) / 8);
  return isWithin(path, folder) ?? NO_FOLDER;
}

const INTEGER = /^[+-]?[0-9]{1,30}$/;

function toInt([value = null]: readonly CelValue[]): CelValue | Fault {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") {
    return Number.isFinite(value) ? withinInt(BigInt(Math.trunc(value))) : NOT_EXACT;
  }
  if (typeof value !== "string") return refused("int", value);
  if (!INTEGER.test(value)) return NO_NUMBER;
  return withinInt(value.startsWith("+") ? BigInt(value.slice(1)) : BigInt(value));
}

function withinInt(value: bigint): bigint | Fault {
  return value >= INT_MIN && value <= INT_MAX ? value : NOT_EXACT;
}

const NUMBER_CHARS_MAX = 100;

/** Does not round: the text 4999.99999999999999999 is not 5000. */
function toDouble([value = null]: readonly CelValue[]): CelValue | Fault {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") {
    const double = Number(value);
    return BigInt(double) === value ? double : NOT_EXACT;
  }
  if (typeof value !== "string") return refused("double", value);
  if (value.length > NUMBER_CHARS_MAX || !/^-?[0-9]/.test(value)) return NO_NUMBER;
  const double = Number(value);
  if (Number.isNaN(double)) return NO_NUMBER;
  return isExactDouble(value) ? double : NOT_EXACT;
}

function toText([value = null]: readonly CelValue[]): CelValue | Fault {
  switch (typeof value) {
    case "string":
      return value;
    case "bigint":
    case "boolean":
    case "number":
      return String(value);
    default:
      return refused("string", value);
  }
}

function toTimestamp([value = null]: readonly CelValue[]): CelValue | Fault {
  if (value instanceof Timestamp) return value;
  return typeof value === "string" ? readTimestamp(value) : refused("timestamp", value);
}

function toDuration([value = null]: readonly CelValue[]): CelValue | Fault {
  if (value instanceof Duration) return value;
  return typeof value === "string" ? readDuration(value) : refused("duration", value);
}

function partOf(name: string, value: CelValue): CelValue | Fault {
  if (value instanceof Timestamp) {
    const part = TIMESTAMP_PARTS[name];
    return part === undefined ? refused(name, value) : BigInt(part(dateOf(value)));
  }
  const unit = DURATION_PARTS[name];
  if (value instanceof Duration && unit !== undefined) return value.nanos / unit;
  return refused(name, value);
}
