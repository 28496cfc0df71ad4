import assert from "node:assert/strict";
import { test } from "node:test";
import { excerpt, labelled, visibleText } from "./visible-text.ts";

test("[ours.notify.hostile] what a screen would obey, hide or reorder is shown as its code point", () => {
  const shown: readonly (readonly [string, string])[] = [
    ["rm\u202Efdp.exe", "rm\\u{202E}fdp.exe"],
    ["a\nb\tc\u001b[2J", "a\\u{000A}b\\u{0009}c\\u{001B}[2J"],
    ["a\u200Bb\u00ADc\u2800d", "a\\u{200B}b\\u{00AD}c\\u{2800}d"],
    ["a\u00A0b\u3000c", "a\\u{00A0}b\\u{3000}c"],
    ["\u{E0041}\u{F0000}", "\\u{E0041}\\u{F0000}"],
    ["\uD800", "\\u{D800}"],
  ];
  for (const [text, visible] of shown) assert.equal(visibleText(text), visible);
  const plain = "deploy --prod é 漢字 😀 a b";
  assert.equal(visibleText(plain), plain);
});

test("[ours.notify.hostile] a code point has four digits or more, in capitals", () => {
  assert.equal(labelled("\0"), "\\u{0000}");
  assert.equal(labelled("\u202e"), "\\u{202E}");
  assert.equal(labelled("\u{1f600}"), "\\u{1F600}");
});

test("[ours.notify.hostile] an excerpt is as wide as it may be at most, and says where it was cut", () => {
  assert.equal(excerpt("abcdef", 6), "abcdef");
  assert.equal(excerpt("abcdefg", 6), "abc...");
  assert.equal(excerpt("😀😀😀😀", 4), "😀😀😀😀", "counted in characters");
  assert.equal(excerpt("😀😀😀😀😀", 4), "😀...");
  assert.equal(excerpt("a\nb", 9), "a\\u{00...", "counted as it is shown");
  assert.equal(excerpt("abcdef", 3), "...");
  assert.equal(excerpt("abcdef", 2), "...");
});
