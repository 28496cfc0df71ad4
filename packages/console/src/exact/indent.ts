/** JSON with every member on a line of its own; each token stays letter for letter. Pure. */

const STEP = "  ";

/** Strings, numbers and words; signs; nothing of the space between them. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

/** @param json valid */
export function indentJson(json: string): string {
  const out: string[] = [];
  let depth = 0;
  let before = "";
  for (const [token] of json.matchAll(TOKENS)) {
    const isEnd = token === "}" || token === "]";
    const isEmpty = isEnd && (before === "{" || before === "[");
    if (isEnd) depth--;
    if (isEnd && !isEmpty) out.push("\n", STEP.repeat(depth));
    else if (!isEmpty && (before === "{" || before === "[" || before === ",")) {
      out.push("\n", STEP.repeat(depth));
    }
    out.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth++;
    before = token;
  }
  return out.join("");
}
