import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { memberSource, visiblePieces } from "./pages/exact-text.js";

test("[ours.passkey.browser] the source of a member is found letter for letter", () => {
  const cases: [string, string][] = [
    ['{"arguments":{"a": 1.10 , "b":[1e400]},"x":1}', '{"a": 1.10 , "b":[1e400]}'],
    ['{ "x" : "\\"arguments\\":1" , "arguments" : -0 }', "-0"],
    ['{"x":{"arguments":1},"arguments":{"arguments":2}}', '{"arguments":2}'],
    ['{"\\u0061rguments":"}{\\\\"}', '"}{\\\\"'],
    ['{"a":[{"}":"]"}],"arguments":[[],{}]}', "[[],{}]"],
    ['{"arguments":true}', "true"],
    ['\n{"a":null\n,"arguments"\n:\n9007199254740993\n}', "9007199254740993"],
  ];
  for (const [json, source] of cases) assert.equal(memberSource(json, "arguments"), source, json);
  assert.equal(memberSource('{"a":1}', "arguments"), undefined);
  assert.equal(memberSource("{}", "arguments"), undefined);
});

test("[ours.passkey.browser] whatever stands beside it, the member that is found is the member", () => {
  const value = fc.json();
  fc.assert(
    fc.property(fc.string(), value, value, value, (key, before, wanted, after) => {
      const name = JSON.stringify(key);
      const rest = name.slice(1);
      const json = `{"-${rest}: ${before} ,${name}:${wanted}, "+${rest}:${after}}`;
      assert.equal(memberSource(json, key), wanted);
    }),
  );
});

test("[ours.passkey.browser] what cannot be seen is written out, and nothing else is changed", () => {
  const shown = (text: string) =>
    visiblePieces(text)
      .map((piece) => (piece.isUnseen ? `<${piece.text}>` : piece.text))
      .join("");
  assert.equal(shown('{"é": "日本 😀"}\n'), '{"é": "日本 😀"}\n');
  assert.equal(shown("a\u202eb\u200bc"), "a<\\u{202E}>b<\\u{200B}>c");
  assert.equal(shown("\t\r\u0000\u007f"), "<\\u{0009}><\\u{000D}><\\u{0000}><\\u{007F}>");
  const others = [
    "\u2028",
    "\u00ad",
    "\u3164",
    "\u2800",
    "\u{e0041}",
    "\ufe0f",
    "\u00a0",
    "\ue000",
  ];
  for (const letter of others) assert.match(shown(letter), /^<\\u\{[0-9A-F]{4,5}\}>$/);
});
