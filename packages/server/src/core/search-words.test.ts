import assert from "node:assert/strict";
import { test } from "node:test";
import {
  excerptOf,
  findTerms,
  indexWords,
  parseSearch,
  readableJson,
  toIndexTerms,
} from "./search-words.ts";

test("[ours.search.words] words have no case, accents or punctuation, and appear once", () => {
  assert.deepEqual(indexWords(["Müller: order A-10077, müller", "stripe.refund_now"]), [
    "muller",
    "order",
    "a",
    "10077",
    "stripe",
    "refund",
    "now",
  ]);
});

test("[ours.search.words] in scripts without spaces, each character is a word", () => {
  assert.deepEqual(indexWords(["東京tower"]), ["東", "京", "tower"]);
});

test("[ours.search.query] a search has words, phrases and prefixes", () => {
  assert.deepEqual(parseSearch('refund "due order" cust*'), [
    { words: ["refund"], isPrefix: false },
    { words: ["due", "order"], isPrefix: false },
    { words: ["cust"], isPrefix: true },
  ]);
  assert.deepEqual(toIndexTerms(parseSearch('"due ord"*')), [
    { word: "due", isPrefix: false },
    { word: "ord", isPrefix: true },
  ]);
});

test("[ours.search.query] every text is a valid search", () => {
  const hostile = ['"', '""', "*", "a AND (", "NEAR(a b)", "'; drop table x --", "\\", ":*", "-a"];
  assert.deepEqual(parseSearch(hostile.slice(0, 3).join(" ")), []);
  for (const text of [...hostile, hostile.join(" "), "\ud800", "x".repeat(100_000)]) {
    for (const { word } of toIndexTerms(parseSearch(text))) {
      assert.match(word, /^[\p{L}\p{N}\p{M}]{1,64}$/u);
    }
  }
});

test("[ours.search.query] a search has at most 16 terms", () => {
  assert.equal(parseSearch("a ".repeat(100)).length, 16);
});

test("[ours.search.match] a phrase matches words that follow each other, with their places", () => {
  const text = "Order A-10077, order of A";
  const [phrase] = findTerms(parseSearch("a-10077"), text);
  assert.deepEqual(phrase, [{ start: 6, end: 13 }]);
  assert.deepEqual(findTerms(parseSearch('"order of a"'), text), [[{ start: 15, end: 25 }]]);
  assert.deepEqual(findTerms(parseSearch('"a order of b"'), text), [[]]);
  assert.deepEqual(findTerms(parseSearch("ord*"), text)[0]?.length, 2);
  assert.deepEqual(findTerms(parseSearch("ord"), text), [[]]);
});

test("[ours.search.match] an excerpt marks matches and cuts no character in two", () => {
  const text = `${"😀".repeat(60)} refund now ${"x".repeat(300)}`;
  const ranges = findTerms(parseSearch("refund"), text).flat();
  const pieces = excerptOf(text, ranges);
  assert.deepEqual(
    pieces.filter(({ isMatch }) => isMatch),
    [{ text: "refund", isMatch: true }],
  );
  const whole = pieces.map((piece) => piece.text).join("");
  assert.match(whole, /^…(😀)+ refund now x+…$/u);
  assert.ok(whole.length <= 163);
});

test("[ours.search.match] arguments are searched without escapes and syntax", () => {
  const source = '{"command": "psql\\n-c \\"select\\"", "n": 1e3, "list": ["a", true]}';
  assert.equal(readableJson(source), 'command: psql\n-c "select", n: 1e3, list: a, true');
});

test("[ours.search.words] a JSON text that is cut in a string is read once", () => {
  assert.equal(readableJson('{"a":"b c'), 'a: "b c');
  assert.equal(readableJson('{"a":"b\\'), 'a: "b\\');
  // Each quotation mark in an open string would start another search for its end.
  const open = `{"a":"${'\\"'.repeat(500_000)}`;
  assert.equal(readableJson(open), `a: ${open.slice(5, 20_000)}`);
});
