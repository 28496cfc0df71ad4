/**
 * Shows text that strangers wrote. Whatever a screen would obey, hide or reorder is shown as a
 * labelled code point instead: what a person reads is what the tool would get.
 *
 * Called by: the room notify, and the command line.
 *
 * @see Unicode Technical Report 36 (bidirectional and invisible characters)
 */

const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

export function visibleText(text: string): string {
  return text.replace(UNSEEN, labelled);
}

/** One character as its code point, like `\u{202E}`. */
export function labelled(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `\\u{${code.toString(16).toUpperCase().padStart(4, "0")}}`;
}

/** One line of at most `width` columns, and says when it is cut; for overviews only. */
export function excerpt(text: string, width: number): string {
  const visible = [...visibleText(text)];
  if (visible.length <= width) return visible.join("");
  return `${visible.slice(0, Math.max(0, width - 3)).join("")}...`;
}
