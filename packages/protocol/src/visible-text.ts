/**
 * Makes untrusted text safe to display. Invisible characters, and characters that change the text
 * order, become code points such as `\u{202E}`. Confusable characters (homoglyphs) get labels.
 * Pure.
 *
 * @see Unicode Technical Report 36 (bidirectional and invisible characters)
 */

import { findConfusables } from "./confusables.ts";
import { nameOfInvisible } from "./invisible-names.ts";

/** Invisible characters, and characters that change the order or position of others. */
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** Text without invisible and confusable characters. */
const PLAIN = /^[\n\x20-\x7e]*$/;

export interface Piece {
  readonly text: string;
  readonly isUnseen: boolean;
  /** Label of the character; absent for ordinary text. */
  readonly label?: string;
}

/**
 * Splits a text into pieces: unchanged text, invisible characters as `\u{...}`, and each confusable
 * character as its own piece. Line breaks stay.
 */
export function visiblePieces(text: string): Piece[] {
  if (PLAIN.test(text)) return text === "" ? [] : [{ text, isUnseen: false }];
  const confusables = findConfusables(text);
  const pieces: Piece[] = [];
  let from = 0;
  let at = 0;
  const flush = () => {
    if (at > from) pieces.push({ text: text.slice(from, at), isUnseen: false });
  };
  for (const letter of text) {
    const isUnseen = letter !== "\n" && (letter < " " || letter > "~") && INVISIBLE.test(letter);
    const label = isUnseen ? nameOfInvisible(letter) : confusables.get(at);
    if (label !== undefined) {
      flush();
      pieces.push({ text: isUnseen ? escapeCodePoint(letter) : letter, isUnseen, label });
      from = at + letter.length;
    }
    at += letter.length;
  }
  flush();
  return pieces;
}

/**
 * One line of plain text, for places without labels. Invisible and confusable characters and line
 * breaks become code points.
 */
export function visibleText(text: string): string {
  return visibleCharacters(text).join("");
}

/** Like {@link visibleText}, with one item for each character of the text. */
export function visibleCharacters(text: string): string[] {
  return visiblePieces(text).flatMap(({ text: piece, isUnseen, label }) => {
    if (isUnseen) return [piece];
    if (label !== undefined) return [escapeCodePoint(piece)];
    return Array.from(piece, (letter) => (letter === "\n" ? escapeCodePoint(letter) : letter));
  });
}

/** True if the text contains a line break or characters that a page does not show. */
export function hasInvisible(text: string): boolean {
  return text.includes("\n") || visiblePieces(text).some(({ isUnseen }) => isUnseen);
}

/** True if the text contains a character that looks like one of another script. */
export function hasConfusables(text: string): boolean {
  return visiblePieces(text).some(({ isUnseen, label }) => !isUnseen && label !== undefined);
}

/** One character as its code point, such as `\u{202E}`. */
export function escapeCodePoint(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `\\u{${code.toString(16).toUpperCase().padStart(4, "0")}}`;
}

/** One line of at most `width` columns with a mark if it is truncated; for overviews only. */
export function excerpt(text: string, width: number): string {
  // Each character has at least one column, so the rest of a long text is not needed.
  const visible = [...visibleText(text.slice(0, 2 * (width + 1)))];
  if (visible.length <= width) return visible.join("");
  return `${visible.slice(0, Math.max(0, width - 3)).join("")}...`;
}
