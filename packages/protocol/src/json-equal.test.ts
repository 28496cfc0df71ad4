import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { numberToken, spelledJson } from "../test/support/spelled-json.ts";
import { parseJson } from "./json.ts";
import { canonicalJson, canonicalNumber, equalJson, equalNumber } from "./json-equal.ts";

/** Both ways to compare, which must always agree, also with the values swapped. */
function equal(a: string, b: string): boolean {
  const [left, right] = [parseJson(a), parseJson(b)];
  const answer = equalJson(left, right);
  assert.equal(equalJson(right, left), answer, `${a} and ${b} swapped`);
  assert.equal(canonicalJson(left) === canonicalJson(right), answer, `${a} and ${b} canonical`);
  return answer;
}

/** The value of a token as a fraction of two integers. */
function fraction(token: string): readonly [numerator: bigint, denominator: bigint] {
  const [mantissa = "", exponent = "0"] = token.toLowerCase().split("e");
  const [whole = "", decimals = ""] = mantissa.split(".");
  const scale = Number(exponent) - decimals.length;
  const digits = BigInt(whole.replace("-", "") + decimals);
  const signed = token.startsWith("-") ? -digits : digits;
  return scale < 0 ? [signed, 10n ** BigInt(-scale)] : [signed * 10n ** BigInt(scale), 1n];
}

test("[ours.idempotency.decimals] [request.create.conflict-exact] numbers are equal as exact decimals in every notation", () => {
  const families = [
    ["1", "1.0", "1.000", "1e0", "1E0", "1e-0", "1e+0", "10e-1", "0.1e1", "0.01E+2", "100e-2"],
    ["100", "1e2", "1E2", "1E+2", "1e+02", "1e002", "100.0", "10.0e1", "0.1e3", "1000e-1"],
    ["0", "-0", "0.0", "-0.000", "0e0", "0e999", "-0E-999", "0.0e-12345678901234567890"],
    ["-1.5", "-15e-1", "-0.15e1", "-1.50", "-0.0015e3"],
    ["9007199254740993", "9007199254740993.0", "9.007199254740993e15", "90071992547409930e-1"],
    ["1e999999999999", "10e999999999998", "0.1e1000000000000"],
    ["1e-999999999999", "10e-1000000000000", "0.1E-999999999998"],
    ["123456789012345678901234567890", "1.2345678901234567890123456789e29"],
  ];
  for (const [i, family] of families.entries()) {
    for (const [j, other] of families.entries()) {
      for (const a of family) {
        for (const b of other) assert.equal(equal(a, b), i === j, `${a} and ${b}`);
      }
    }
  }
});

test("[ours.idempotency.decimals] numbers that are equal as doubles are still different", () => {
  const pairs = [
    ["9007199254740993", "9007199254740992"],
    ["0.1", "0.1000000000000000055511151231257827"],
    ["1e400", "1e401"],
    ["1e400", "2e400"],
    ["1e-400", "0"],
    ["1e-400", "-1e-400"],
    ["-1", "1"],
    ["1e1000000000000000000000", "1e1000000000000000000001"],
    ["10", "1"],
    ["1.01", "1.10"],
  ];
  for (const [a = "", b = ""] of pairs) assert.equal(equal(a, b), false, `${a} and ${b}`);
});

test("[ours.idempotency.decimals] equal means equal as fractions of integers", () => {
  const small = numberToken.filter((token) => Math.abs(Number(token.split(/e/i)[1] ?? 0)) < 400);
  const property = fc.property(small, small, (a, b) => {
    const [an, ad] = fraction(a);
    const [bn, bd] = fraction(b);
    assert.equal(equalNumber(a, b), an * bd === bn * ad, `${a} and ${b}`);
  });
  fc.assert(property, { numRuns: 1_000 });
});

test("[ours.idempotency.decimals] a moved point or added zeros keep the value, another digit changes it", () => {
  const property = fc.property(
    fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
    fc.integer({ min: -2_000, max: 2_000 }),
    fc.nat(30),
    (coefficient, exponent, zeros) => {
      const token = `${coefficient}e${exponent}`;
      assert.ok(equalNumber(token, `${coefficient}${"0".repeat(zeros)}e${exponent - zeros}`));
      assert.ok(equalNumber(token, `${coefficient}.${"0".repeat(zeros + 1)}E${exponent}`));
      assert.equal(equalNumber(token, `${coefficient + 1n}e${exponent}`), false);
      if (coefficient === 0n) return;
      assert.equal(equalNumber(token, `${coefficient}e${exponent + 1}`), false);
      assert.equal(equalNumber(token, `${-coefficient}e${exponent}`), false);
    },
  );
  fc.assert(property, { numRuns: 500 });
});

test("[ours.idempotency.decimals] a huge exponent is compared without expanding the value", () => {
  const exponent = "9".repeat(990);
  assert.equal(canonicalNumber(`1e${exponent}`), `1e${exponent}`);
  assert.equal(canonicalNumber(`-10e-${exponent}`), `-1e-${BigInt(exponent) - 1n}`);
  assert.equal(canonicalNumber(`0e${exponent}`), "0");
  assert.equal(canonicalNumber("100"), "1e2");
  assert.equal(canonicalNumber("0.00120"), "12e-4");
  assert.throws(() => canonicalNumber("1."), TypeError);
});

test("[ours.idempotency.shape] key order, white space and string escapes do not matter", () => {
  const same = [
    ['{"a":1,"b":[2,{"c":3,"d":4}]}', ' { "b" : [ 2 , {"d":4.0,"c":3} ] , "a" : 1e0 } '],
    ['{"\\u0061":"\\u0062\\/\\n"}', '{"a":"b/\\u000a"}'],
    ['"\\ud83d\\ude00"', '"😀"'],
    ['{"__proto__":1,"constructor":2}', '{"constructor":2,"\\u005f_proto__":1}'],
    ["[]", "[ ]"],
    ["{}", "{\n}"],
  ];
  for (const [a = "", b = ""] of same) assert.ok(equal(a, b), `${a} and ${b}`);
});

test("[ours.idempotency.shape] types, absence, item order and code points do matter", () => {
  const different = [
    ["null", "false"],
    ["null", '"null"'],
    ["1", '"1"'],
    ["0", "false"],
    ["{}", "[]"],
    ["{}", "null"],
    ['{"a":null}', "{}"],
    ['{"a":null}', '{"b":null}'],
    ['{"a":1}', '{"a":1,"b":1}'],
    ["[1,2]", "[2,1]"],
    ["[1]", "[1,1]"],
    ["[[]]", "[]"],
    ['"é"', '"e\\u0301"'],
    ['"ﬁ"', '"fi"'],
    ['"K"', '"\u212a"'],
    ['"a"', '"A"'],
    ['""', '"\\u0000"'],
    ['{"__proto__":{}}', "{}"],
    ['{"toString":1}', "{}"],
    ['["a,b"]', '["a","b"]'],
    ['{"a":"b"}', '{"a\\":\\"b":1}'],
  ];
  for (const [a = "", b = ""] of different) assert.equal(equal(a, b), false, `${a} and ${b}`);
});

test("[ours.idempotency.shape] canonical texts are equal exactly when the values are", () => {
  // Few and similar values, so that both outcomes are common.
  const leaf = fc.constantFrom("0", "-0.0", "1", "1.0", "10e-1", '"a"', '"\\u0061"', "null");
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 2 },
      leaf,
      fc.array(tie("value"), { maxLength: 2 }).map((items) => `[${items.join()}]`),
      fc
        .uniqueArray(fc.tuple(fc.constantFrom("a", "b", "__proto__"), tie("value")), {
          maxLength: 3,
          selector: ([key]) => key,
        })
        .map((members) => `{${members.map(([key, item]) => `"${key}":${item}`).join()}}`),
    ),
  }));
  const outcomes = new Set<boolean>();
  const property = fc.property(value, value, (a, b) => {
    outcomes.add(equal(a, b));
  });
  fc.assert(property, { numRuns: 2_000 });
  assert.equal(outcomes.size, 2, "both outcomes were met");
});

test("[ours.idempotency.shape] a value equals itself in any spelling of its own", () => {
  const property = fc.property(spelledJson, ({ text }) => {
    const parsed = parseJson(text);
    assert.ok(equal(text, ` ${text} `));
    assert.ok(equalJson(parsed, parseJson(canonicalJson(parsed), ROOMY)));
  });
  fc.assert(property, { numRuns: 500 });
});

test("[ours.idempotency.shape] a text that is not a number has no canonical form", () => {
  for (const text of ["", "a", "1.", "+1", "0x1", " 1"]) {
    assert.throws(() => canonicalNumber(text), { message: "not a JSON number token" }, text);
  }
});

/** Canonical numbers may be a little longer than the token they were read from. */
const ROOMY = { depthMax: 100, numberCharsMax: 10_000 };
