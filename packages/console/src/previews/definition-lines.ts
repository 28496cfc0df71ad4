/** The definition of a tool on several lines, for a comparison by lines. Pure. */

import { indentJson } from "../exact/indent.ts";

/** An escape sequence of a string: `\\`, or a line break. */
const ESCAPES = /\\(?:\\|n)/g;

/**
 * Each member, and each line of a text, on a line of its own. The characters of the definition are
 * unchanged.
 *
 * @param text valid JSON
 */
export function definitionLines(text: string): string {
  return indentJson(text).replace(ESCAPES, (sequence) => (sequence === "\\n" ? "\\n\n" : sequence));
}
