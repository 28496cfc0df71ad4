/**
 * Where inputs come from: grammars, and texts of the corpus with pieces cut, doubled, swapped and
 * put in. All of it is drawn by fast-check, so that a seed gives the same inputs again.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

/** Texts that broke something once, or reach far: one file for each target, an array of texts. */
export function readCorpus(target: string): readonly string[] {
  const file = join(import.meta.dirname, "corpus", `${target}.json`);
  return JSON.parse(readFileSync(file, "utf8")) as string[];
}

/** Difficult tokens for parsers in any language. */
const TOKENS: readonly string[] = [
  "",
  " ",
  "\t",
  "\n",
  "\r\n",
  "\r",
  "\0",
  "\x7f",
  "\xa0",
  "\u2028",
  "\ufeff",
  "\u202e",
  "\ud800",
  "\udfff",
  "😀",
  "é",
  "e\u0301",
  "İ",
  "ſ",
  "\uffff",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "true",
  "undefined",
  "NaN",
  "Infinity",
  "0",
  "-0",
  "-1",
  "1e9",
  "1e400",
  "1E-999",
  "9007199254740993",
  "18446744073709551616",
  '"',
  "'",
  "`",
  "\\",
  "\\u0000",
  "\\ud83d",
  "/",
  "//",
  "/*",
  "*/",
  "..",
  "%00",
  "%2e",
  "%zz",
  "{",
  "}",
  "[",
  "]",
  "(",
  ")",
  "<",
  ">",
  ":",
  ";",
  ",",
  ".",
  "?",
  "#",
  "@",
  "&",
  "*",
  "!",
  "|",
  "<<",
  "- ",
  "---",
  "&a",
  "*a",
  "!!js/function",
  "{{",
  "$" + "{",
  "<script>",
  "=cmd()",
];

interface Edit {
  readonly kind: "cut" | "double" | "insert" | "splice" | "change";
  readonly at: number;
  readonly length: number;
  readonly text: string;
  readonly times: number;
}

const edits: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom("cut", "double", "insert", "splice", "change"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.integer({ min: 1, max: 40 }),
  text: fc.oneof(fc.constantFrom(...TOKENS), fc.string({ unit: "binary", maxLength: 8 })),
  times: fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 1, max: 4 }) },
    { weight: 1, arbitrary: fc.integer({ min: 100, max: 3_000 }) },
  ),
});

function edit(text: string, other: string, { kind, at, length, text: put, times }: Edit): string {
  const start = Math.floor(at * text.length);
  const before = text.slice(0, start);
  const piece = text.slice(start, start + length);
  const after = text.slice(start + length);
  switch (kind) {
    case "cut":
      return before + after;
    case "double":
      return before + piece.repeat(times + 1) + after;
    case "insert":
      return before + put.repeat(times) + piece + after;
    case "splice":
      return before + other.slice(Math.floor(at * other.length));
    case "change":
      return before + put + after;
  }
}

const CHARS_MAX = 200_000;

/** Texts that were changed a few times, some not at all. */
export function edited(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(texts, texts, fc.array(edits, { maxLength: 5 }))
    .map(([text, other, all]) =>
      all.reduce((changed, each) => edit(changed, other, each).slice(0, CHARS_MAX), text),
    );
}

/** JSON of every shape, the hostile ones included. */
export const jsonTexts: fc.Arbitrary<string> = fc.oneof(
  fc.json({ maxDepth: 6 }),
  fc.json({ maxDepth: 3, stringUnit: "binary" }),
  fc
    .array(fc.tuple(fc.constantFrom(...TOKENS), fc.json({ maxDepth: 1 })), { maxLength: 12 })
    .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`)}}`),
  fc
    .tuple(
      fc.constantFrom("-", ""),
      fc.nat(),
      fc.constantFrom("", ".0", ".50", "e5", "E-400", "e+9"),
    )
    .map((parts) => parts.join("")),
  fc.integer({ min: 1, max: 300 }).map((depth) => "[".repeat(depth) + "]".repeat(depth)),
);

/** From the grammar, from the corpus, and both with changes. */
export function inputsOf(target: string, grammar: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const texts = fc.oneof(grammar, fc.constantFrom(...readCorpus(target)));
  return fc.oneof({ weight: 1, arbitrary: texts }, { weight: 4, arbitrary: edited(texts) });
}
