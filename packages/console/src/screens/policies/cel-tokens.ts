/** Splits a CEL expression into the tokens that are highlighted. It accepts any text. */

export interface CelToken {
  readonly kind: "name" | "function" | "text" | "literal";
  readonly from: number;
  readonly to: number;
}

const PATTERNS = [
  /(?<text>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)/,
  /(?<literal>\b(?:true|false|null)\b|\b\d[\w.]*)/,
  /(?<call>\b[A-Za-z_]\w*(?=\())/,
  /(?<![.\w])(?<variable>args|tool|instance|context|now|history)\b/,
];

const TOKEN = new RegExp(PATTERNS.map(({ source }) => source).join("|"), "g");

export function celTokens(source: string): readonly CelToken[] {
  return [...source.matchAll(TOKEN)].map(({ index, groups, 0: text }) => ({
    kind: kindOf(groups),
    from: index,
    to: index + text.length,
  }));
}

function kindOf(groups: Readonly<Record<string, string | undefined>> = {}): CelToken["kind"] {
  if (groups.text !== undefined) return "text";
  if (groups.literal !== undefined) return "literal";
  return groups.call !== undefined ? "function" : "name";
}
