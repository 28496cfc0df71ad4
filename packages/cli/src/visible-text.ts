/**
 * Shows text that strangers wrote, on a terminal.
 */

import { visibleText } from "@countersign/protocol";

export { excerpt, visibleText } from "@countersign/protocol";

/**
 * Lays out JSON source over lines. Only white space between tokens changes: every number,
 * string and key keeps its spelling.
 *
 * @param source one valid JSON text
 */
export function layOutJson(source: string): string {
  const tokens = source.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let depth = 0;
  let text = "";
  tokens.forEach((token, i) => {
    const before = tokens[i - 1];
    const opens = token === "{" || token === "[";
    const closes = token === "}" || token === "]";
    if (closes) depth--;
    const isFirst = before === "{" || before === "[";
    if (closes ? !isFirst : isFirst || before === ",") text += `\n${"  ".repeat(depth)}`;
    text += token === ":" ? ": " : token;
    if (opens) depth++;
  });
  return text.split("\n").map(visibleText).join("\n");
}
