import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  escapeCodePoint,
  excerpt,
  hasConfusables,
  hasInvisible,
  visibleCharacters,
  visiblePieces,
  visibleText,
} from "./visible-text.ts";

test("[ours.inbox.exact] invisible characters become code points with their names; other text stays unchanged", () => {
  const shown = (text: string) =>
    visiblePieces(text)
      .map(({ text: piece, label }) => (label === undefined ? piece : `<${piece} ${label}>`))
      .join("");
  assert.equal(shown('{"é": "日本 😀"}\n'), '{"é": "日本 😀"}\n');
  assert.equal(
    shown("a\u202eb\u200bc"),
    "a<\\u{202E} right-to-left override>b<\\u{200B} zero-width space>c",
  );
  assert.equal(shown("\t\u0001"), "<\\u{0009} tab><\\u{0001} control character>");
  assert.equal(shown("p\u0430y"), "p<а Cyrillic>y");
  const others = ["\u2028", "\u00ad", "\u3164", "\u2800", "\u{e0041}", "\ufe0f", "\ue000"];
  for (const letter of others) assert.match(visibleText(letter), /^\\u\{[0-9A-F]{4,5}\}$/);
});

test("[ours.inbox.exact] the output keeps every character of any text, in order", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const back = visiblePieces(text)
        .map(({ text: piece, isUnseen }) =>
          isUnseen ? String.fromCodePoint(Number.parseInt(piece.slice(3, -1), 16)) : piece,
        )
        .join("");
      assert.equal(back, text);
    }),
  );
});

test("[ours.notify.hostile] plain text has invisible, confusable and unassigned characters as code points", () => {
  const shown: readonly (readonly [string, string])[] = [
    ["rm\u202Efdp.exe", "rm\\u{202E}fdp.exe"],
    ["a\nb\tc\u001b[2J", "a\\u{000A}b\\u{0009}c\\u{001B}[2J"],
    ["a\u00A0b\u3000c", "a\\u{00A0}b\\u{3000}c"],
    ["\u{E0041}\u{F0000}", "\\u{E0041}\\u{F0000}"],
    ["\uD800\u0378", "\\u{D800}\\u{0378}"],
    ["p\u0430ypal", "p\\u{0430}ypal"],
    ["a\u2215b", "a\\u{2215}b"],
  ];
  for (const [text, visible] of shown) {
    assert.equal(visibleText(text), visible);
    assert.equal(visibleCharacters(text).length, [...text].length);
  }
  const plain = "deploy --prod é 漢字 Привет 😀 a b";
  assert.equal(visibleText(plain), plain);
});

test("[ours.notify.hostile] invisible and confusable characters are found separately", () => {
  assert.deepEqual([hasInvisible("a\u200b"), hasConfusables("a\u200b")], [true, false]);
  assert.deepEqual([hasInvisible("p\u0430y"), hasConfusables("p\u0430y")], [false, true]);
  assert.deepEqual(
    [hasInvisible("a\n"), hasInvisible("é"), hasConfusables("é")],
    [true, false, false],
  );
});

test("[ours.notify.hostile] a code point has four digits or more, in capitals", () => {
  assert.equal(escapeCodePoint("\0"), "\\u{0000}");
  assert.equal(escapeCodePoint("\u{1f600}"), "\\u{1F600}");
});

test("[ours.notify.hostile] an excerpt has at most its width, and shows where it was cut", () => {
  assert.equal(excerpt("abcdef", 6), "abcdef");
  assert.equal(excerpt("abcdefg", 6), "abc...");
  assert.equal(excerpt("😀😀😀😀", 4), "😀😀😀😀");
  assert.equal(excerpt("😀😀😀😀😀", 4), "😀...");
  assert.equal(excerpt("a\nb", 9), "a\\u{00...");
  assert.equal(excerpt("abcdef", 2), "...");
  assert.equal(excerpt("é".repeat(1_000_000), 5), "éé...");
});
