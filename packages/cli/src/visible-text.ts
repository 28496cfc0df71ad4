/**
 * Shows text that strangers wrote. Whatever a terminal would obey, hide or reorder is shown as a
 * labelled code point instead: what a person reads is what the tool would get.
 *
 * @see Unicode Technical Report 36 (bidirectional and invisible characters)
 */

const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

export function visibleText(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16).toUpperCase().padStart(4, "0")}}`;
  });
}

/** One line of at most `width` columns, and says when it is cut; for overviews only. */
export function excerpt(text: string, width: number): string {
  const visible = [...visibleText(text)];
  if (visible.length <= width) return visible.join("");
  return `${visible.slice(0, Math.max(0, width - 3)).join("")}...`;
}

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
