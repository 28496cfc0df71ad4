import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { visiblePieces, visibleText } from "./visible-text.ts";

test("[ours.inbox.exact] what cannot be seen is written out with its name, and nothing else is changed", () => {
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

test("[ours.inbox.exact] whatever the text is, it stands there whole and in its order", () => {
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
