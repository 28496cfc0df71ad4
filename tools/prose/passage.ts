/**
 * Prose as the rules read it. Every reader masks what is not prose and keeps the length, so an
 * offset in a passage is an offset in the file.
 */

/** `docs`: Markdown and YAML descriptions. `message`: strings and text of pages. */
export type Kind = "docs" | "heading" | "message" | "title" | "comment";

export interface Passage {
  readonly kind: Kind;
  /** Offset of the passage in the file, in UTF-16 code units. */
  readonly offset: number;
  /** As long as the original. Code is a word that {@link isCode} recognizes. */
  readonly text: string;
}

/** Greek letters are letters for the sentence parser, and the prose of this repository has none. */
const CODE_INITIAL = "Ξ";
const CODE_LETTER = "ξ";

/** Replaces code with one word of the same length, so that it counts as a word of its sentence. */
export function maskCode(code: string): string {
  return code === "" ? "" : CODE_INITIAL + CODE_LETTER.repeat(code.length - 1);
}

export function isCode(word: string): boolean {
  return word.includes(CODE_INITIAL);
}

/** Replaces markup with blanks. Line breaks stay. */
export function maskMarkup(markup: string): string {
  return markup.replaceAll(/[^\n]/g, " ");
}

const INLINE_CODE = /(`+)[^`]+?\1(?!`)/g;
const LINK_TAG = /\{@\w+[^}]*\}/g;
const URL = /\b[a-z][a-z0-9+.-]*:\/\/[^\s)>"'\]]*[^\s)>"'\].,:;]/gi;

/** Masks inline code, `{@link}` and URLs of text that no Markdown parser has read. */
export function maskInlineCode(text: string): string {
  return text
    .replaceAll(INLINE_CODE, maskCode)
    .replaceAll(LINK_TAG, maskCode)
    .replaceAll(URL, maskCode);
}
