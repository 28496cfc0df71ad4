/**
 * Texts of strangers as they are, with what cannot be seen in them written out. Pure, so that it
 * is tested without a browser.
 */

/** As the command line writes it. */
function codeOf(letter: string): string {
  return `\\u{${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}}`;
}

/** What shows nothing, or changes the order or the place of what is shown. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

export interface Piece {
  readonly text: string;
  readonly isUnseen: boolean;
}

/**
 * A text in pieces: as it is, and what cannot be seen as `\u{...}`. Ends of lines stay.
 */
export function visiblePieces(text: string): Piece[] {
  const pieces: { text: string; readonly isUnseen: boolean }[] = [];
  for (const letter of text) {
    const isUnseen = letter !== "\n" && UNSEEN.test(letter);
    const shown = isUnseen ? codeOf(letter) : letter;
    const last = pieces.at(-1);
    if (last?.isUnseen === isUnseen && !isUnseen) last.text += shown;
    else pieces.push({ text: shown, isUnseen });
  }
  return pieces;
}
