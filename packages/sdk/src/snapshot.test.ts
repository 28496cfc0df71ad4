import assert from "node:assert/strict";
import { test } from "node:test";
import { equalJson, JsonNumber, JsonObject, parseJson } from "@countersign/protocol";
import fc from "fast-check";
import { snapshot, snapshotOfText, toPlain } from "./snapshot.ts";

test("[ours.sdk.gate.arguments] the snapshot accepts and submits any JSON object unchanged", () => {
  const property = fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (original) => {
    const before = JSON.stringify(original);
    const { value, json } = snapshot(original, "arguments");
    // Nothing is lost, also not the sign of a zero, which JSON.stringify drops.
    assert.deepEqual(JSON.parse(json.source), { ...original });
    assert.deepEqual(toPlain(json), value);
    assert.equal(JSON.stringify(value), before);
    const kept = snapshotOfText(json.source, false, "argumentsJson");
    assert.ok(equalJson(kept.json, json));
  });
  fc.assert(property);
});

test("[ours.sdk.gate.arguments] a snapshot is deeply frozen, and the original stays unchanged", () => {
  const original = { a: { b: [{ c: 1 }] }, gone: undefined, __proto__: { inherited: true } };
  assert.throws(() => snapshot(original, "arguments"), /not a plain object/);
  const own = JSON.parse('{"__proto__":{"x":1},"a":{"b":[{"c":1}]}}') as {
    readonly a: { readonly b: readonly { c: number }[] };
  };
  const { value, json } = snapshot({ ...own, gone: undefined }, "arguments");
  assert.equal(json.source, '{"__proto__":{"x":1},"a":{"b":[{"c":1}]}}');
  assert.ok(Object.isFrozen(value) && Object.isFrozen(value.a.b) && Object.isFrozen(value.a.b[0]));
  assert.ok(!Object.isFrozen(own.a));
  assert.deepEqual(Object.keys(value), ["__proto__", "a"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

test("[ours.sdk.gate.arguments] bigints and exact numbers are written digit for digit", () => {
  const original = { big: 2n ** 70n, exact: new JsonNumber("0.10"), zero: -0, small: 5e-324 };
  const { json } = snapshot(original, "arguments");
  const expected = '{"big":1180591620717411303424,"exact":0.10,"zero":-0,"small":5e-324}';
  assert.equal(json.source, expected);
  assert.deepEqual(snapshotOfText(expected, false, "x").value, {
    // A double holds it, but in other digits.
    big: new JsonNumber("1180591620717411303424"),
    exact: 0.1,
    zero: -0,
    small: 5e-324,
  });
  const odd = toPlain(parseJson("[9007199254740993,1e400,0.1000000000000000055511151231257827]"));
  assert.ok(Array.isArray(odd) && odd.every((number) => number instanceof JsonNumber));
});

test("[ours.sdk.gate.arguments] a JsonObject is submitted as its text; changes to its members have no effect", () => {
  const original = parseJson('{ "a" : 1.0 }');
  assert.ok(original instanceof JsonObject);
  const { value, json } = snapshot(original, "arguments");
  (original.members as Map<string, unknown>).set("a", "evil");
  assert.equal(json.source, '{ "a" : 1.0 }');
  assert.deepEqual(value.members.get("a"), new JsonNumber("1.0"));
});

test("[ours.sdk.gate.arguments] the snapshot rejects values that JSON would change or drop, with their path", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const cases: [object, RegExp][] = [
    [{ a: { b: new Date(0) } }, /^arguments\.a\.b is a Date, not a plain object/],
    [{ a: new Map() }, /arguments\.a is a Map, not a plain object/],
    [{ a: [1, Number.POSITIVE_INFINITY] }, /arguments\.a\[1\] must be a finite number/],
    [{ a: Array(1) }, /arguments\.a\[0\] is of type undefined/],
    [{ a: () => 1 }, /arguments\.a is of type function/],
    [{ a: Symbol("s") }, /arguments\.a is of type symbol/],
    [
      { a: new JsonNumber('1,"b":2') },
      /arguments\.a is a JsonNumber with text that is not a valid number/,
    ],
    [
      { a: new JsonNumber("[1]") },
      /arguments\.a is a JsonNumber with text that is not a valid number/,
    ],
    [{ "\udc00": 1 }, /surrogate/],
    [cycle, /nested more than \d+ levels deep or contains a cycle/],
    [new JsonObject(new Map(), '{"a":1,"a":2}'), /same key twice/],
    [new JsonObject(new Map(), "[]"), /must be an object/],
  ];
  for (const [original, message] of cases) {
    assert.throws(() => snapshot(original, "arguments"), { code: "invalid_call", message });
  }
});
