import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  JsonArray,
  JsonNumber,
  JsonObject,
  type JsonValue,
  parseJson,
  parseJsonBytes,
} from "./json.ts";
import { Problem, type ProblemCode } from "./problems.ts";

function refusal(read: () => unknown): { code: ProblemCode; param: string | undefined } {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof Problem, `${error} is not a Problem`);
    assert.equal(error.status, 400);
    return { code: error.code, param: error.param };
  }
  throw new assert.AssertionError({ message: "was accepted" });
}

function assertMalformed(text: string): void {
  assert.equal(refusal(() => parseJson(text)).code, "invalid_json", JSON.stringify(text));
}

/** The result of `JSON.parse`, with maps for objects so that no key is special. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.source);
  if (value instanceof JsonArray) return value.items.map(plain);
  if (value instanceof JsonObject) {
    return new Map([...value.members].map(([key, member]) => [key, plain(member)]));
  }
  return value;
}

function plainByNative(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return new Map(Object.entries(value));
  });
}

test("[ours.json.malformed] text that is not exactly one JSON value is rejected", () => {
  const texts = ["", " ", "\n\t", "nul", "tru", "fals", "True", "NULL", "undefined", "a", "'a'"];
  for (const text of texts) assertMalformed(text);
  for (const text of ["1 2", "{}{}", "[] x", "truex", "null,", '"a""b"', "{},", "// c\n1"]) {
    assertMalformed(text);
  }
});

test("[ours.json.malformed] only the four white space characters of JSON are allowed between tokens", () => {
  assert.deepEqual(plain(parseJson(" \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n")), [1, 2]);
  for (const space of ["\v", "\f", "\u00a0", "\u2028", "\u2029", "\u3000", "\u0085", "\0"]) {
    assertMalformed(`${space}1`);
    assertMalformed(`1${space}`);
    assertMalformed(`[1,${space}2]`);
  }
});

test("[ours.json.malformed] numbers have no leading zero, plus, bare point, other base or name", () => {
  const wrong =
    "01 -01 00 -00 +1 .5 -.5 1. 1.e1 1.5. 1e 1e+ 1e- 1E 1ee1 1e1.5 - -- --1 -a 0x10 0b1 0o7 " +
    "1_000 1n 1f NaN Infinity -Infinity";
  for (const token of wrong.split(" ")) {
    assertMalformed(token);
    assertMalformed(`[${token}]`);
    assertMalformed(`{"a":${token}}`);
  }
});

test("[ours.json.malformed] objects and arrays are closed, separated and have no trailing comma", () => {
  const arrays = ["[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1}", "[[]"];
  const objects =
    '{ } {"a" {"a": {"a":1 {"a":1, {"a":1,} {,"a":1} {,} {"a":1,,"b":2} {"a":1"b":2} {"a",1} ' +
    '{"a"} {"a":} {:1} {a:1} {1:1} {null:1} {"a":1] {"a"::1} {"a":1:2}';
  for (const text of [...arrays, ...objects.split(" "), "{'a':1}", "[1]]", "{}}"]) {
    assertMalformed(text);
  }
});

test("[ours.json.malformed] strings end, hold no bare control character and no unknown escape", () => {
  const open = ['"', '"a', '"a\\', '"\\"', '"\\u', '"\\u0', '"\\u00', '"\\u000', '{"a'];
  for (const text of open) assertMalformed(text);
  for (let code = 0; code < 0x20; code++) assertMalformed(`"${String.fromCharCode(code)}"`);
  for (const wrong of ["\\a", "\\v", "\\0", "\\x41", "\\'", "\\U0041", "\\ ", "\\\n", "\\é"]) {
    assertMalformed(`"${wrong}"`);
    assertMalformed(`"first\\n${wrong}"`);
  }
  const digits = ["00g0", "0x41", "{41}", "+041", "-041", " 041", "004", "00_4", "٠٠٤١"];
  for (const hex of digits) assertMalformed(`"\\u${hex}"`);
});

test("[ours.json.malformed] every prefix of a JSON text is rejected", () => {
  const text = '{"a":[1.5e+3,true,false,null,"\\u00e9\\n"],"b":{"c":{}}}';
  for (let length = 0; length < text.length; length++) assertMalformed(text.slice(0, length));
  assert.deepEqual(plain(parseJson(text)), plainByNative(text));
});

test("[ours.json.malformed] the place of the fault is its path", () => {
  const place = (text: string) => refusal(() => parseJson(text)).param;
  assert.equal(place("x"), "body");
  assert.equal(place("{x"), "body");
  assert.equal(place('{"a":x}'), "a");
  assert.equal(place('{"a":{"b":[0,1,x]}}'), "a.b[2]");
  assert.equal(place('[[1],{"k":01}]'), "[1].k");
  assert.equal(place('{"a":1}x'), "body");
});

test("[ours.json.malformed] the path of a fault is cut to a bounded, well-formed text", () => {
  const key = `${"k".repeat(199)}😀${"k".repeat(10_000)}`;
  const { param = "" } = refusal(() => parseJson(`{"${key}":x}`));
  assert.ok(param.length <= 203 && param.endsWith("..."), `${param.length} characters`);
  assert.ok(param.isWellFormed());
  const whole = "k".repeat(200);
  assert.equal(refusal(() => parseJson(`{"${whole}":x}`)).param, whole);
});

test("[ours.json.encoding] bytes that are not valid UTF-8 are rejected", () => {
  const wrong: readonly (readonly number[])[] = [
    [0xff],
    [0xfe],
    [0x80],
    [0xc0, 0x80],
    [0xc1, 0xbf],
    [0xe0, 0x80, 0x80],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xed, 0xbf, 0xbf],
    [0xf0, 0x80, 0x80, 0x80],
    [0xf0, 0x9f, 0x98],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
  ];
  for (const bytes of wrong) {
    const inString = Uint8Array.of(0x22, ...bytes, 0x22);
    for (const text of [Uint8Array.from(bytes), inString]) {
      assert.deepEqual(
        refusal(() => parseJsonBytes(text)),
        { code: "invalid_json", param: "body" },
      );
    }
  }
});

test("[ours.json.encoding] a byte order mark and UTF-16 are rejected; a mark inside a string is kept", () => {
  const marked = Buffer.from("\ufeff{}");
  assert.deepEqual(
    refusal(() => parseJsonBytes(marked)),
    { code: "invalid_json", param: "body" },
  );
  assert.equal(refusal(() => parseJsonBytes(Buffer.from("{}", "utf16le"))).code, "invalid_json");
  assert.equal(refusal(() => parseJsonBytes(Buffer.from("{}\ufeff"))).code, "invalid_json");
  assert.equal(parseJsonBytes(Buffer.from('"\ufeffa"')), "\ufeffa");
});

test("[ours.json.encoding] an unpaired surrogate is rejected; a pair is one character", () => {
  const alone =
    "\\ud800 \\udbff \\udc00 \\udfff \\uD800a \\ud800\\n \\ud800\\u0041 \\ud800\\ud800 " +
    "\\udc00\\ud800 \\ud83d\\ude0 \\ud83d\\\\ude00 \\ud83d\\ude00\\ud83d";
  for (const half of alone.split(" ")) {
    assertMalformed(`"${half}"`);
    assertMalformed(`{"${half}":1}`);
    assertMalformed(`{"deep":["x${half}"]}`);
  }
  assert.equal(parseJson('"\\ud83d\\ude00 \\uD83D\\uDe00 😀"'), "😀 😀 😀");
});

test("[scalar.arguments.strings] every escape is decoded for comparing, NUL included", () => {
  const text = '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00e9\\u00E9\u007f\u2028"';
  assert.equal(parseJson(text), '"\\/\b\f\n\r\t\0éé\u007f\u2028');
});

test("[ours.json.duplicate-keys] a duplicate key is rejected at any depth, with its path", () => {
  const cases: readonly (readonly [string, string])[] = [
    ['{"a":1,"a":1}', "a"],
    ['{"a":1,"b":2,"a":{}}', "a"],
    ['{"arguments":{"b":1,"b":2}}', "arguments.b"],
    ['{"a":[0,{"b":[{"c":1,"c":1}]}]}', "a[1].b[0].c"],
    ['{"":1,"":2}', "body"],
    ['{"a":{"":1,"":2}}', "a."],
    ['{"__proto__":1,"__proto__":2}', "__proto__"],
    ['{"x":{"constructor":1,"constructor":1}}', "x.constructor"],
  ];
  for (const [text, param] of cases) {
    assert.deepEqual(
      refusal(() => parseJson(text)),
      { code: "duplicate_key", param },
      text,
    );
  }
});

test("[ours.json.duplicate-keys] an escape that spells the same key makes it the same key", () => {
  const pairs = [
    ["a", "\\u0061"],
    ["/", "\\/"],
    ["\\u00E9", "\\u00e9"],
    ["\\n", "\\u000a"],
    ["😀", "\\ud83d\\ude00"],
    ["__proto__", "\\u005f_proto__"],
  ];
  for (const [one, other] of pairs) {
    const text = `{"${one}":1,"${other}":1}`;
    assert.equal(refusal(() => parseJson(text)).code, "duplicate_key", text);
  }
  const different = ["a", "A", "é", "e\u0301", "ﬁ", "fi", "\\u0000", "", " ", "a "];
  const text = `{${different.map((key) => `"${key}":1`).join()}}`;
  assert.equal((parseJson(text) as JsonObject).members.size, different.length);
});

test("[scalar.arguments.strings] __proto__ and constructor are ordinary keys", () => {
  const parsed = parseJson('{"__proto__":{"polluted":true},"constructor":1,"toString":null}');
  assert.ok(parsed instanceof JsonObject);
  assert.deepEqual([...parsed.members.keys()], ["__proto__", "constructor", "toString"]);
  assert.equal("polluted" in {}, false);
  assert.equal(parsed.members.get("hasOwnProperty"), undefined);
});

test("[ours.json.depth] the limit counts open brackets, the outermost included", () => {
  const limits = { depthMax: 3, numberCharsMax: 10 };
  for (const text of ["[[[1]]]", '{"a":{"b":{}}}', "[[],[[]],{},[[]]]", "[[[],[],[]]]"]) {
    assert.ok(parseJson(text, limits));
  }
  const deep: readonly (readonly [string, string])[] = [
    ["[[[[]]]]", "[0][0][0]"],
    ['{"a":{"b":{"c":{}}}}', "a.b.c"],
    ['[[],{"k":[7,[]]}]', "[1].k[1]"],
  ];
  for (const [text, param] of deep) {
    assert.deepEqual(
      refusal(() => parseJson(text, limits)),
      { code: "too_deep", param },
    );
  }
});

test("[ours.json.depth] a body may be nested 100 levels and not 101", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assert.ok(parseJson(nested(100)));
  const { code, param = "" } = refusal(() => parseJson(nested(101)));
  assert.equal(code, "too_deep");
  assert.ok(param.length <= 203 && param.startsWith("[0][0]"), param);
});

test("[ours.json.number-length] a number token has 1,000 characters at most, sign and exponent counted", () => {
  const fits = ["9".repeat(1000), `-${"9".repeat(999)}`, `0.${"0".repeat(998)}`];
  fits.push(`1e${"9".repeat(998)}`, `1E-${"0".repeat(997)}`);
  for (const token of fits) {
    assert.equal((parseJson(token) as JsonNumber).source, token);
    const longer = `${token}0`;
    const { code, param } = refusal(() => parseJson(`{"a":[${longer}]}`));
    assert.deepEqual({ code, param }, { code: "number_too_long", param: "a[0]" });
  }
});

test("[scalar.arguments.numbers] [scalar.arguments.spelling] a number keeps its spelling", () => {
  const tokens =
    "0 -0 -0.0 1.0 1.00 1E2 1e2 1e+2 1e-2 1E+02 0e0 9007199254740993 123456789012345678901 " +
    "1e400 -1e400 1e-400 0.1000000000000000055511151231257827";
  for (const token of tokens.split(" ")) {
    assert.equal((parseJson(token) as JsonNumber).source, token);
    assert.equal((parseJson(`[ ${token} ]`) as JsonArray).source, `[ ${token} ]`);
  }
});

const MIB = 1024 * 1024;

test("[ours.json.depth] [ours.json.number-length] the worst body of a mebibyte is still answered", () => {
  const fill = (piece: string, around = 0) =>
    piece.repeat(Math.floor((MIB - around) / piece.length));
  const refused: readonly (readonly [string, ProblemCode])[] = [
    [fill("["), "too_deep"],
    [fill('{"a":'), "too_deep"],
    [fill("[{"), "invalid_json"],
    [fill("9"), "number_too_long"],
    [`1e${fill("9", 2)}`, "number_too_long"],
    [`0.${fill("0", 2)}`, "number_too_long"],
    [`-${fill("1", 1)}`, "number_too_long"],
    [`"${fill("\\\\", 1)}`, "invalid_json"],
    [`"${fill("a", 1)}`, "invalid_json"],
    [fill(" "), "invalid_json"],
    [`[${fill("1,", 1)}`, "invalid_json"],
    [`{"${fill("k", 9)}":[x]}`, "invalid_json"],
  ];
  for (const [text, code] of refused) {
    const bytes = Buffer.from(text);
    assert.equal(refusal(() => parseJsonBytes(bytes)).code, code, text.slice(0, 10));
  }
});

test("[ours.json.malformed] a mebibyte of unusual but valid JSON parses completely", () => {
  const fill = (piece: string, around: number) =>
    piece.repeat(Math.floor((MIB - around) / piece.length));
  const keys = Array.from({ length: 80_000 }, (_, i) => `"k${i}":0`).join();
  const texts = [
    `"${fill("\\u0000", 2)}"`,
    `"${fill("\\ud83d\\ude00", 2)}"`,
    `"${fill("\\n", 2)}"`,
    `"${fill("é", 2)}"`,
    `[${fill("[],", 5)}[]]`,
    `[${fill("1,", 3)}1]`,
    `${fill(" ", 2)}{}`,
    `{${keys}}`,
  ];
  for (const text of texts) {
    assert.deepEqual(plain(parseJsonBytes(Buffer.from(text))), plainByNative(text));
  }
});

test("[ours.json.malformed] any JSON value parses like JSON.parse, with any white space", () => {
  const space = fc.constantFrom(0, 1, "\t", "\n \r");
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), space, (value, indent) => {
      const text = JSON.stringify(value, null, indent).replaceAll("\n", "\r\n");
      assert.deepEqual(plain(parseJson(text)), plainByNative(text));
    }),
  );
});

test("[ours.json.malformed] the parser rejects every text that JSON.parse rejects, and never crashes", () => {
  const soup = fc.array(fc.constantFrom(...'{}[],:"\\u0e+-.19tfn \n'.split(""), "true", "null"));
  fc.assert(
    fc.property(soup, (pieces) => {
      const text = pieces.join("");
      const strict = outcome(() => plain(parseJson(text)));
      const native = outcome(() => plainByNative(text));
      if (native === undefined) assert.equal(strict, undefined, text);
      else if (strict !== undefined) assert.deepEqual(strict, native);
    }),
    { numRuns: 2_000 },
  );
});

function outcome(read: () => unknown): { value: unknown } | undefined {
  try {
    return { value: read() };
  } catch (error) {
    assert.ok(error instanceof Problem || error instanceof SyntaxError, String(error));
    return undefined;
  }
}

test("[ours.json.encoding] text with a lone surrogate is rejected at every position", () => {
  for (const text of ['"\ud800"', '"a\udfff"', '{"\ud800":1}', "\ud800"]) {
    const message = "The text holds a lone surrogate.";
    assert.throws(() => parseJson(text), { code: "invalid_json", param: "body", message });
  }
  assert.equal(parseJson('"\ud83d\ude00"'), "\u{1f600}");
});

/** The message of each fault. A developer must be able to fix the input with it. */
const WORDS: readonly (readonly [string, string, number, string])[] = [
  ["", "the text ends where a value is expected", 0, "body"],
  ["x", "a value is expected", 0, "body"],
  ["tru", "a value is expected", 0, "body"],
  ["[1,]", "a value is expected", 3, "[1]"],
  ["{", "a key in quotes is expected", 1, "body"],
  ["{a", "a key in quotes is expected", 1, "body"],
  ['{"a"', "a colon is expected after a key", 4, "a"],
  ['{"a" 1}', "a colon is expected after a key", 5, "a"],
  ["[1 2", "a comma or a closing bracket is expected", 3, "[0]"],
  ["-", "a digit is expected", 1, "body"],
  ["1.", "a digit is expected", 2, "body"],
  ['"a', "an unterminated string", 2, "body"],
  ['"\n"', "a string has an unescaped control character", 1, "body"],
  ['"\\x"', "an unknown escape", 1, "body"],
  ['"\\udc00"', "a lone low surrogate", 7, "body"],
  ['"\\ud800"', "a lone high surrogate", 7, "body"],
  ['"\\ud800\\n"', "a lone high surrogate", 7, "body"],
  ['"\\ud800\\u0041"', "a lone high surrogate", 13, "body"],
  ['"\\u12"', "an escape needs four hexadecimal digits", 1, "body"],
  ["1 2", "text after the end of the value", 2, "body"],
];

test("[ours.json.malformed] each fault has its own message, with its position", () => {
  for (const [text, what, at, param] of WORDS) {
    const message = `The body is not valid JSON: ${what} (at character ${at}).`;
    assert.throws(() => parseJson(text), { code: "invalid_json", message, param }, text);
  }
  const others: readonly (readonly [string, string, string])[] = [
    ['{"a":1,"a":2}', "duplicate_key", "An object has the same key twice."],
    ["[".repeat(101), "too_deep", "The JSON is nested deeper than 100 levels."],
    ["1".repeat(1_001), "number_too_long", "A number is longer than 1000 characters."],
  ];
  for (const [text, code, message] of others) {
    assert.throws(() => parseJson(text), { code, message });
  }
  const message = "The body is not valid UTF-8.";
  assert.throws(() => parseJsonBytes(Uint8Array.of(0xff)), { message });
});
