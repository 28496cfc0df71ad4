/** The definition of a tool on several lines, for a comparison by lines. Pure. */

import { indentJson } from "../exact/indent.ts";

/** An escape sequence of a string: `\\`, or a line break. */
const ESCAPES = /\\(?:\\|n)/g;

/**
 * Each member, and each line of a text, on a line of its own. The characters of the definition are
 * unchanged.
 *
 * @param text JSON; any other text is unchanged
 */
export function definitionLines(text: string): string {
  if (!isJson(text)) return text;
  return indentJson(text).replace(ESCAPES, (sequence) => (sequence === "\\n" ? "\\n\n" : sequence));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
