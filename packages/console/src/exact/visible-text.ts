/**
 * Texts of strangers as they are, with what cannot be seen in them written out and with letters
 * that pass for others labelled. Pure, so that it is tested without a browser.
 */

import { findLookAlikes } from "./look-alikes.ts";
import { nameOfUnseen } from "./unseen-names.ts";

/** As the command line writes it. */
function codeOf(letter: string): string {
  return `\\u{${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}}`;
}

/** What shows nothing, or changes the order or the place of what is shown. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** Nothing in it can be unseen or pass for something else. */
const PLAIN = /^[\n\x20-\x7e]*$/;

export interface Piece {
  readonly text: string;
  readonly isUnseen: boolean;
  /** What a chip says about the letter; absent for text that is just text. */
  readonly label?: string;
}

/**
 * A text in pieces: as it is, what cannot be seen as `\u{...}`, and letters that pass for others
 * by themselves. Ends of lines stay.
 */
export function visiblePieces(text: string): Piece[] {
  if (PLAIN.test(text)) return text === "" ? [] : [{ text, isUnseen: false }];
  const lookAlikes = findLookAlikes(text);
  const pieces: Piece[] = [];
  let from = 0;
  let at = 0;
  const flush = () => {
    if (at > from) pieces.push({ text: text.slice(from, at), isUnseen: false });
  };
  for (const letter of text) {
    const isUnseen = letter !== "\n" && (letter < " " || letter > "~") && UNSEEN.test(letter);
    const label = isUnseen ? nameOfUnseen(letter) : lookAlikes.get(at);
    if (label !== undefined) {
      flush();
      pieces.push({ text: isUnseen ? codeOf(letter) : letter, isUnseen, label });
      from = at + letter.length;
    }
    at += letter.length;
  }
  flush();
  return pieces;
}

/** Where only plain text can stand, as in a title. */
export function visibleText(text: string): string {
  return visiblePieces(text)
    .map((piece) => piece.text)
    .join("");
}
