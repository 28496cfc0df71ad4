import assert from "node:assert/strict";
import { test } from "node:test";
import {
  JsonArray,
  JsonNumber,
  JsonObject,
  type JsonValue,
  parseJson,
} from "@countersign/protocol";
import fc from "fast-check";
import { exactNumber, fromJson, hasInexact, isMap } from "./values.ts";

const digit = fc.constantFrom(..."0123456789");

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

function marked(json: string): boolean {
  const value = parseJson(json);
  assert.ok(value instanceof JsonObject);
  return hasInexact(value);
}

test("[ours.policy.inexact] one inexact number anywhere marks the whole object", () => {
  const inexact = ["1e400", "12345678901234567890", "0.1000000000000000055", "1e-400", "1e19"];
  for (const number of inexact) {
    assert.ok(marked(`{"a":[1,{"b":${number}}],"c":1}`), number);
    assert.ok(!marked(`{"a":"${number}","${number}":1}`), number);
  }
  for (const number of ["1e4", "9007199254740993", "0.1", "1.5e-3", "123456789.123456", "-0"]) {
    assert.ok(!marked(`{"a":[1,{"b":${number}}],"c":1}`), number);
  }
});

test("[ours.policy.inexact] a number of up to 15 digits and no exponent is never inexact", () => {
  const decimals = fc.tuple(fc.nat({ max: 10 ** 9 }), fc.string({ unit: digit, maxLength: 5 }));
  const property = fc.property(decimals, fc.boolean(), ([whole, fraction], negative) => {
    const source = `${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
    assert.notEqual(exactNumber(source), undefined, source);
  });
  fc.assert(property, { numRuns: 2_000 });
});

test("[ours.policy.bounded] what is nested deep is looked at without recursion", () => {
  let deep: JsonValue = new JsonNumber("1e400");
  for (let depth = 0; depth < 100_000; depth++) deep = new JsonArray([deep], "[]");
  assert.ok(hasInexact(new JsonObject(new Map([["deep", deep]]), '{"deep":[1e400]}')));
});
