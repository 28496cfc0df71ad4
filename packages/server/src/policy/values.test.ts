import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonArray, JsonObject, type JsonValue, parseJson } from "@countersign/protocol";
import fc from "fast-check";
import { exactNumber, fromJson, INEXACT } from "./values.ts";

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
  const json = parseJson('{"__proto__":{"a":1},"constructor":2,"toString":3}');
  const { value } = fromJson(json);
  assert.ok(value instanceof Map);
  assert.deepEqual([...value.keys()], ["__proto__", "constructor", "toString"]);
  assert.equal(value.get("hasOwnProperty"), undefined);
});

test("[ours.policy.inexact] one inexact number marks everything it is in", () => {
  const { value, inexact } = fromJson(parseJson('{"a":[1,{"b":1e400}],"c":1}'));
  assert.ok(inexact);
  assert.ok(value instanceof Map);
  assert.equal(value.get("c"), 1n);
  assert.equal(fromJson(parseJson('{"a":[1,{"b":1e4}]}')).inexact, false);
});

test("[ours.policy.bounded] what is nested too deep is not looked at, and marks the call", () => {
  let deep: JsonValue = null;
  for (let depth = 0; depth < 100_000; depth++) deep = new JsonArray([deep], "[]");
  const { value, inexact } = fromJson(new JsonObject(new Map([["deep", deep]]), "{}"));
  assert.ok(inexact);
  assert.ok(value instanceof Map);
  assert.notEqual(value.get("deep"), INEXACT);
});
