/** Shortens arguments for a message, with invisible characters as code points. */

import { visibleCharacters } from "@countersign/protocol";

export interface ArgumentsExcerpt {
  /** States when the arguments are truncated. */
  readonly label: string;
  readonly shown: string;
  readonly isWhole: boolean;
}

/** @param bytesMax maximum displayed bytes, in UTF-8 */
export function excerptArguments(text: string, bytesMax: number): ArgumentsExcerpt {
  const { shown, chars, of } = firstOf(text, bytesMax);
  if (chars === of) return { label: "Arguments", shown, isWhole: true };
  const label = `Arguments, only the first ${chars} of ${of} characters`;
  return { label, shown, isWhole: false };
}

/** The longest prefix that fits after invisible characters are escaped. */
function firstOf(text: string, bytesMax: number) {
  // Each UTF-16 unit has at least one byte, so the rest of a long text cannot fit.
  const characters = visibleCharacters(text.slice(0, bytesMax));
  let shown = "";
  let bytes = 0;
  let chars = 0;
  for (const visible of characters) {
    bytes += Buffer.byteLength(visible);
    if (bytes > bytesMax) break;
    shown += visible;
    chars++;
  }
  return { shown, chars, of: [...text].length };
}
