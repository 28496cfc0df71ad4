/**
 * What a piece of SQL does, by its verbs, and whether it says to which rows. Databases differ in
 * how they read quotes and comments; whatever they could read differently has no preview. Pure.
 */

export interface SqlVerb {
  readonly verb: string;
  /** Whether a WHERE belongs to it, and not only to a query inside it. */
  readonly hasWhere: boolean;
}

/** The first words of statements. */
const VERBS = new Set([
  ...["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "TRUNCATE", "CREATE", "ALTER"],
  ...["DROP", "GRANT", "REVOKE", "CALL", "COPY", "BEGIN", "COMMIT", "ROLLBACK", "SET", "SHOW"],
  ...["VACUUM", "ANALYZE", "REINDEX", "LOCK", "RENAME", "PRAGMA", "ATTACH", "DETACH", "VALUES"],
  ...["START", "SAVEPOINT", "RELEASE", "COMMENT", "REFRESH", "TABLE", "DESCRIBE"],
]);

/** They lead to the verb, which is one of these. */
const LEADS = new Set(["WITH", "EXPLAIN"]);
const LED_TO = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"]);

/** Without a WHERE they are about every row. */
export const NEEDS_WHERE: ReadonlySet<string> = new Set(["UPDATE", "DELETE"]);

/** A second one in a statement: there are databases that need no semicolon before it. */
const CHANGES = new Set([
  "INSERT",
  "UPDATE",
  "DELETE",
  "MERGE",
  "TRUNCATE",
  "DROP",
  "ALTER",
  "EXEC",
]);
/** Behind these it belongs to the statement, as in ON DELETE. */
const BEFORE_CHANGES = new Set(["ON", "FOR", "DO", "THEN", "KEY"]);
/** They name others' verbs. */
const NAMES_VERBS = new Set(["GRANT", "REVOKE", "ALTER"]);

/** A statement, or what stands in brackets in it. */
interface Scope {
  verb: string;
  state: "begins" | "is led" | "has a verb" | "is no query";
  hasWhere: boolean;
}

/** @returns undefined for what is not understood */
export function readSql(text: string): SqlVerb[] | undefined {
  const tokens = tokensOf(text)?.map((token) => token.toUpperCase());
  if (tokens === undefined) return undefined;
  const all: Scope[] = [];
  let open: Scope[] = [];
  const begin = () => {
    const scope: Scope = { verb: "", state: "begins", hasWhere: false };
    all.push(scope);
    open.push(scope);
  };
  begin();
  for (const [index, token] of tokens.entries()) {
    if (token === ";") {
      if (open.length !== 1) return undefined;
      open = [];
      begin();
    } else if (token === "(") begin();
    else if (token === ")") {
      if (open.length === 1) return undefined;
      open.pop();
    } else if (!takeWord(open, token, tokens[index + 1] ?? "", tokens[index - 1] ?? "")) {
      return undefined;
    }
  }
  if (open.length !== 1 || all.some(({ state }) => state === "is led")) return undefined;
  const verbs = all.flatMap(({ verb, hasWhere }) => (verb === "" ? [] : [{ verb, hasWhere }]));
  return verbs.length === 0 ? undefined : verbs;
}

/** @returns whether it is understood */
function takeWord(open: readonly Scope[], word: string, next: string, before: string): boolean {
  const scope = open.at(-1);
  if (scope === undefined) return false;
  if (scope.state === "begins") {
    if (LEADS.has(word)) scope.state = "is led";
    else if (VERBS.has(word)) setVerb(scope, word);
    else if (open.length === 1) return false;
    else scope.state = "is no query";
  } else if (scope.state === "is led") {
    // A query in front may be called as a verb is, except SELECT.
    const isName = word !== "SELECT" && (next === "AS" || next === "(");
    if (LED_TO.has(word) && !isName) setVerb(scope, word);
  } else if (word === "WHERE") scope.hasWhere = true;
  else if (CHANGES.has(word) && !BEFORE_CHANGES.has(before)) return NAMES_VERBS.has(scope.verb);
  return true;
}

function setVerb(scope: Scope, verb: string): void {
  scope.verb = verb;
  scope.state = "has a verb";
}

/** Words, numbers and signs, with quoted names and texts as `'`. */
function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = [];
  let at = 0;
  for (;;) {
    const found = nextToken(text, at);
    if (found === undefined) return undefined;
    if (found.end === at) return tokens;
    if (found.token !== "") tokens.push(found.token);
    at = found.end;
  }
}

const WORD = /[\p{L}_][\p{L}\p{N}_$]*/uy;

function nextToken(text: string, at: number): { token: string; end: number } | undefined {
  const letter = text[at];
  if (letter === undefined) return { token: "", end: at };
  if (/[\s\ufeff]/.test(letter)) return { token: "", end: at + 1 };
  if (text.startsWith("--", at)) return skipLineComment(text, at);
  if (text.startsWith("/*", at)) return skipComment(text, at);
  // A comment in one database and an operator in another.
  if (letter === "#") return undefined;
  if (letter === "'" || letter === '"' || letter === "`") return skipQuoted(text, at, letter);
  if (letter === "$") return skipDollarQuoted(text, at);
  if (letter === "\\" || letter === "\0") return undefined;
  WORD.lastIndex = at;
  const word = WORD.exec(text)?.[0];
  if (word !== undefined) return { token: word, end: at + word.length };
  return { token: letter, end: at + 1 };
}

function skipLineComment(text: string, at: number) {
  // `--x` is a comment in one database and two signs in another.
  if (!/^$|\s/.test(text[at + 2] ?? "")) return undefined;
  const end = text.indexOf("\n", at);
  return { token: "", end: end === -1 ? text.length : end + 1 };
}

function skipComment(text: string, at: number) {
  const end = text.indexOf("*/", at + 2);
  if (end === -1) return undefined;
  const inside = text.slice(at + 2, end);
  // One database runs `/*! ... */`; in some, comments stand in comments.
  if (inside.startsWith("!") || inside.startsWith("M!") || inside.includes("/*")) return undefined;
  return { token: "", end: end + 2 };
}

function skipQuoted(text: string, start: number, quote: string) {
  for (let at = start + 1; at < text.length; at++) {
    // In one database it protects the quote behind it, in another it is a letter.
    if (text[at] === "\\") return undefined;
    if (text[at] !== quote) continue;
    if (text[at + 1] !== quote) return { token: "'", end: at + 1 };
    at++;
  }
  return undefined;
}

function skipDollarQuoted(text: string, at: number) {
  const tag = /^\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/u.exec(text.slice(at, at + 80))?.[0];
  if (tag === undefined) return { token: "$", end: at + 1 };
  const end = text.indexOf(tag, at + tag.length);
  return end === -1 ? undefined : { token: "'", end: end + tag.length };
}
