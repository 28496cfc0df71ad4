/**
 * Words of texts, and searches for them. The index and the check of a result use the same words.
 * Pure.
 */

/** A text is searched up to here. */
export const FIELD_CHARS_MAX = 20_000;

/** Longer words are the same when they start with the same characters. */
const WORD_CHARS_MAX = 64;

/** Further terms of a search are ignored. */
const TERMS_MAX = 16;

/** Scripts that have no spaces between words: each character is a word. */
const UNSPACED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}";

const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`, "gu");

interface Word {
  /** In lower case, without accents. */
  readonly folded: string;
  readonly start: number;
  readonly end: number;
}

/** Words that follow each other in a text. */
export interface SearchTerm {
  readonly words: readonly string[];
  /** True when the last word may be longer in the text. */
  readonly isPrefix: boolean;
}

/** A word that a document contains. */
export interface IndexTerm {
  readonly word: string;
  readonly isPrefix: boolean;
}

/** Part of a text, from its start to before its end. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

function* wordsIn(text: string): Generator<Word> {
  for (const { 0: found, index: start } of text.slice(0, FIELD_CHARS_MAX).matchAll(WORD)) {
    const folded = fold(found);
    if (folded !== "") yield { folded, start, end: start + found.length };
  }
}

function fold(word: string): string {
  const bare = word.normalize("NFKD").replace(/[\p{Mn}\s]/gu, "");
  return bare.toLowerCase().slice(0, WORD_CHARS_MAX);
}

/** The words of texts, each once. */
export function indexWords(texts: readonly string[]): string[] {
  const words = new Set<string>();
  for (const text of texts) for (const { folded } of wordsIn(text)) words.add(folded);
  return [...words];
}

const TERM = /"([^"]*)"?(\*?)|([^\s"]+)/gu;

/**
 * Reads a search: words, phrases in quotation marks, and `*` at the end for words that start so.
 * Every text is a valid search; characters that are not part of a word separate words.
 */
export function parseSearch(text: string): SearchTerm[] {
  const terms: SearchTerm[] = [];
  for (const [, phrase, star, word = ""] of text.matchAll(TERM)) {
    const words = [...wordsIn(phrase ?? word)].map(({ folded }) => folded);
    const isPrefix = phrase === undefined ? word.endsWith("*") : star === "*";
    if (words.length > 0 && terms.length < TERMS_MAX) terms.push({ words, isPrefix });
  }
  return terms;
}

/** The words that a document needs, to be able to match all terms. */
export function toIndexTerms(terms: readonly SearchTerm[]): IndexTerm[] {
  return terms.flatMap(({ words, isPrefix }) =>
    words.map((word, i) => ({ word, isPrefix: isPrefix && i === words.length - 1 })),
  );
}

/** Where a text contains each of the terms, in the order of the terms. */
export function findTerms(terms: readonly SearchTerm[], text: string): TextRange[][] {
  const words = [...wordsIn(text)];
  return terms.map((term) =>
    words.flatMap((first, at) => {
      if (!isAt(term, words, at)) return [];
      const last = words[at + term.words.length - 1] ?? first;
      return [{ start: first.start, end: last.end }];
    }),
  );
}

function isAt({ words: wanted, isPrefix }: SearchTerm, words: readonly Word[], at: number) {
  return wanted.every((word, i) => {
    const there = words[at + i]?.folded;
    const isLast = i === wanted.length - 1;
    return isPrefix && isLast ? there?.startsWith(word) === true : there === word;
  });
}

/** A piece of an excerpt. */
export interface ExcerptPiece {
  readonly text: string;
  readonly isMatch: boolean;
}

/** Characters of an excerpt, and how many of them are before the first match. */
const EXCERPT_CHARS = 160;
const BEFORE_CHARS = 40;

/** The part of a text around the first of some ranges, in pieces. */
export function excerptOf(text: string, ranges: readonly TextRange[]): ExcerptPiece[] {
  const ordered = ranges.toSorted((a, b) => a.start - b.start);
  const start = boundary(text, Math.max(0, (ordered[0]?.start ?? 0) - BEFORE_CHARS));
  const end = boundary(text, Math.min(text.length, start + EXCERPT_CHARS));
  const pieces: ExcerptPiece[] = [{ text: start > 0 ? "…" : "", isMatch: false }];
  let at = start;
  for (const range of ordered) {
    const [from, to] = [Math.max(at, range.start), Math.min(end, range.end)];
    if (from >= to) continue;
    pieces.push({ text: text.slice(at, from), isMatch: false });
    pieces.push({ text: text.slice(from, to), isMatch: true });
    at = to;
  }
  pieces.push({ text: text.slice(at, end) + (end < text.length ? "…" : ""), isMatch: false });
  return pieces.filter((piece) => piece.text !== "");
}

/** Not between the two halves of one character. */
function boundary(text: string, at: number): number {
  const isHalf = /^[\udc00-\udfff]/.test(text.slice(at, at + 1));
  return isHalf && at > 0 ? at - 1 : at;
}

/**
 * The last string may have no end: it then reaches to the end of the text. So each character is
 * read once; otherwise each quotation mark in it would start another search for an end.
 */
const STRING = /"(?:[^"\\]|\\.)*(?:"|\\?$)/gs;

/** The beginning of a JSON text as it is searched: without its syntax, with decoded strings. */
export function readableJson(source: string): string {
  const text = source.slice(0, FIELD_CHARS_MAX);
  let readable = "";
  let at = 0;
  for (const { 0: string, index } of text.matchAll(STRING)) {
    readable += spaced(text.slice(at, index)) + decoded(string);
    at = index + string.length;
  }
  return readable + spaced(text.slice(at));
}

function spaced(syntax: string): string {
  return syntax
    .replace(/[{}[\]\s]/g, "")
    .replaceAll(":", ": ")
    .replaceAll(",", ", ");
}

function decoded(string: string): string {
  try {
    return JSON.parse(string) as string;
  } catch {
    return string;
  }
}
