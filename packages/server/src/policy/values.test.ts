import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonNumber, parseJson } from "@countersign/protocol";
import fc from "fast-check";
import {
  type CelNumber,
  compareExactly,
  compareOrdered,
  exactNumber,
  fromJson,
  isMap,
  isNumber,
} from "./values.ts";

test("[ours.policy.exact-numbers] a number is exactly what was spelled, or nothing", () => {
  const exact: Record<string, bigint | number> = {
    "0": 0n,
    "-0": 0n,
    "-0.0": 0n,
    "0e400": 0n,
    "5e3": 5000n,
    "5000.0": 5000n,
    "9007199254740993": 9007199254740993n,
    "9007199254740993.0": 9007199254740993n,
    "9223372036854775807": 9223372036854775807n,
    "-9223372036854775808": -9223372036854775808n,
    "92233720368547758070e-1": 9223372036854775807n,
    "1.10": 1.1,
    "0.1": 0.1,
    "5e-324": 5e-324,
    "1e-7": 1e-7,
    "-2.5": -2.5,
  };
  for (const [source, value] of Object.entries(exact)) assert.equal(exactNumber(source), value);
  const inexact = ["1e400", "-1e400", "9223372036854775808", "-9223372036854775809", "1e19"];
  const decimals = ["1e-400", "0.10000000000000000555", "4999.99999999999999999", "1e300"];
  const long = [`1${"0".repeat(500)}`, `1e${"9".repeat(300)}`, `1e-${"9".repeat(300)}`];
  for (const source of [...inexact, ...decimals, ...long]) {
    assert.equal(exactNumber(source), undefined, source);
  }
});

test("[ours.policy.exact-numbers] every int of 64 bits and every double is read as itself", () => {
  const ints = fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
    assert.equal(exactNumber(String(value)), value);
    assert.equal(exactNumber(`${value}.000`), value);
    assert.equal(exactNumber(`${value}0e-1`), value);
  });
  fc.assert(ints);
  const doubles = fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
    const read = exactNumber(String(value));
    if (!Number.isInteger(value)) assert.equal(read, value);
    else if (Math.abs(value) < 2 ** 53) assert.equal(read, BigInt(value));
  });
  fc.assert(doubles);
});

test("[ours.policy.hostile-keys] keys that JavaScript knows are own keys of a map", () => {
  const value = fromJson(parseJson('{"__proto__":{"a":1},"constructor":2,"toString":3}'));
  assert.ok(isMap(value));
  assert.deepEqual([...value.keys()], ["__proto__", "constructor", "toString"]);
  assert.equal(value.get("constructor"), 2n);
  for (const key of ["hasOwnProperty", "valueOf", "size", "get"]) {
    assert.equal(value.get(key), undefined);
    assert.ok(!value.has(key));
  }
});

/** `digits * 10 ** exponent`, with a spelling of it. */
const decimals = fc
  .record({
    digits: fc.oneof(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.bigInt(-1000n, 1000n)),
    exponent: fc.integer({ min: -40, max: 40 }),
  })
  .map((value) => ({ ...value, source: `${value.digits}e${value.exponent}` }));

function scaled({ digits, exponent }: { digits: bigint; exponent: number }): bigint {
  return digits * 10n ** BigInt(exponent + 40);
}

function numberOf(source: string): CelNumber {
  const value = fromJson(new JsonNumber(source));
  assert.ok(isNumber(value));
  return value;
}

test("[ours.policy.exact-numbers] numbers of any size are ordered as integers of any size are", () => {
  const property = fc.property(decimals, decimals, (left, right) => {
    const expected = compareOrdered(scaled(left), scaled(right));
    const order = compareExactly(numberOf(left.source), numberOf(right.source));
    assert.ok(order === expected, `${left.source} and ${right.source}: ${order}`);
  });
  fc.assert(property, { numRuns: 2_000 });
});

test("[ours.policy.exact-numbers] infinity is beyond every number, and NaN has no order", () => {
  const huge = numberOf("1e400");
  assert.equal(compareExactly(huge, Number.POSITIVE_INFINITY), -1);
  assert.equal(compareExactly(Number.NEGATIVE_INFINITY, huge), -1);
  assert.equal(compareExactly(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY), 0);
  assert.ok(Number.isNaN(compareExactly(huge, Number.NaN)));
});

test("[ours.policy.bounded] exponents that a double rounds are not ordered", () => {
  const vast = numberOf(`1e${"9".repeat(300)}`);
  assert.equal(compareExactly(vast, numberOf(`1e${"9".repeat(301)}`)), undefined);
  assert.equal(compareExactly(vast, 1n), undefined);
});
