/**
 * Where the cursor is in a policy: inside of which keys, and whether a key or a value is written.
 * It reads the text before the cursor, which need not be valid YAML.
 */

export interface CompletionPlace {
  /** The keys around the cursor, the outermost first, like `rules`, `match`, `tool`. */
  readonly path: readonly string[];
  readonly kind: "key" | "value";
  /** The text of the key or the value before the cursor. */
  readonly prefix: string;
}

const KEY = /^([A-Za-z_]\w*)\s*:(?:\s+|$)/;
const BLOCK_LINE = /^(\s*)((?:- +)*)(.*)$/;

/** @param before all text before the cursor */
export function placeOf(before: string): CompletionPlace {
  const lines = before.split("\n");
  const { indent, dash, rest } = partsOf(lines.at(-1) ?? "");
  const own = readInline(rest);
  const around = pathAbove(lines.slice(0, -1), dash === undefined ? indent : dash + 1);
  return { ...own, path: [...around, ...own.path] };
}

interface LineParts {
  /** Column of the key, after dashes. */
  readonly indent: number;
  /** Column of the first dash; undefined without one. */
  readonly dash: number | undefined;
  readonly rest: string;
}

function partsOf(line: string): LineParts {
  const [, space = "", dashes = "", rest = ""] = BLOCK_LINE.exec(line) ?? [];
  const dash = dashes === "" ? undefined : space.length;
  return { indent: space.length + dashes.length, dash, rest };
}

/** @param limit the keys around the cursor have smaller columns */
function pathAbove(lines: readonly string[], limit: number): readonly string[] {
  const path: string[] = [];
  let left = limit;
  for (const line of lines.toReversed()) {
    if (left === 0) break;
    if (/^\s*(#|$)/.test(line)) continue;
    const { indent, dash, rest } = partsOf(line);
    const key = KEY.exec(rest)?.[1];
    const isAround = indent < left && key !== undefined;
    if (isAround) path.unshift(key);
    // The key of a list can have the column of its dashes.
    if (dash !== undefined && dash < left) left = dash + 1;
    else if (isAround) left = indent;
  }
  return path;
}

/** The rest of a line: a key and a value, which may contain maps and lists in brackets. */
function readInline(rest: string): CompletionPlace {
  const key = KEY.exec(rest);
  if (key === null) return { path: [], kind: "key", prefix: rest };
  return readFlow(rest.slice(key[0].length), [key[1] ?? ""]);
}

interface Bracket {
  readonly kind: "{" | "[";
  /** Length of the path outside. */
  readonly depth: number;
}

const OPENING = /^[{[]/;

function readFlow(value: string, start: readonly string[]): CompletionPlace {
  const path = [...start];
  if (!OPENING.test(value)) return { path, kind: "value", prefix: value };
  const brackets: Bracket[] = [];
  let prefix = "";
  let quote = "";
  for (const character of value) {
    if (quote !== "") {
      prefix += character;
      if (character === quote) quote = "";
    } else if ((character === '"' || character === "'") && prefix === "") {
      quote = character;
      prefix = character;
    } else if (character === "{" || character === "[") {
      brackets.push({ kind: character, depth: path.length });
      prefix = "";
    } else if (character === "}" || character === "]") {
      path.length = brackets.pop()?.depth ?? path.length;
      prefix = "";
    } else if (character === ",") {
      path.length = brackets.at(-1)?.depth ?? path.length;
      prefix = "";
    } else if (character === ":" && brackets.at(-1)?.kind === "{" && isInKey(path, brackets)) {
      path.push(prefix.trim());
      prefix = "";
    } else if (character !== " " || prefix !== "") prefix += character;
  }
  const isKey = brackets.at(-1)?.kind === "{" && isInKey(path, brackets);
  return { path, kind: isKey ? "key" : "value", prefix };
}

function isInKey(path: readonly string[], brackets: readonly Bracket[]): boolean {
  return path.length === brackets.at(-1)?.depth;
}
