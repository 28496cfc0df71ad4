/**
 * The verbs of SQL statements, and whether each statement has a WHERE of its own. Databases read
 * quotes, comments, names and statement ends in different ways; text that one of them could read in
 * another way has no preview. Pure. `tools/fuzz/preview-targets.ts` compares it with SQLite.
 */

export interface SqlVerb {
  readonly verb: string;
  /** Whether a WHERE belongs to it, and not only to a query inside it. */
  readonly hasWhere: boolean;
}

const SQL_CHARS_MAX = 100_000;

/** The first words of statements. */
const VERBS = new Set([
  "SELECT",
  "INSERT",
  "UPDATE",
  "DELETE",
  "MERGE",
  "REPLACE",
  "TRUNCATE",
  "CREATE",
  "ALTER",
  "DROP",
  "GRANT",
  "REVOKE",
  "CALL",
  "COPY",
  "BEGIN",
  "COMMIT",
  "ROLLBACK",
  "SET",
  "SHOW",
  "VACUUM",
  "ANALYZE",
  "REINDEX",
  "LOCK",
  "RENAME",
  "PRAGMA",
  "ATTACH",
  "DETACH",
  "VALUES",
  "START",
  "SAVEPOINT",
  "RELEASE",
  "COMMENT",
  "REFRESH",
  "TABLE",
  "DESCRIBE",
]);

/** They lead to the verb, which is one of these. */
const LEADS = new Set(["WITH", "EXPLAIN"]);
const LED_TO = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"]);

/** Without a WHERE they are about every row. */
export const NEEDS_WHERE: ReadonlySet<string> = new Set(["UPDATE", "DELETE"]);

/** The verbs of queries in parentheses; other words there are names. */
const INNER_VERBS = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"]);

/** First words of a second statement: T-SQL needs no semicolon before it. */
const CHANGES = new Set([
  "INSERT",
  "UPDATE",
  "DELETE",
  "MERGE",
  "TRUNCATE",
  "DROP",
  "ALTER",
  "CREATE",
  "EXEC",
  "EXECUTE",
  "GRANT",
  "REVOKE",
  "DENY",
  "CALL",
  "BACKUP",
  "RESTORE",
  "SHUTDOWN",
  "KILL",
]);

/** Where such a word is a part of the statement: the words before it, itself, and behind it. */
const PARTS: readonly (readonly [before: RegExp, word: RegExp, next: RegExp])[] = [
  [/ ON$/, /^(?:UPDATE|DELETE)$/, /^(?:CASCADE|SET|NO|RESTRICT|CURRENT_TIMESTAMP)$/],
  [/ DUPLICATE KEY$/, /^UPDATE$/, /./],
  [/ DO$/, /^UPDATE$/, /^SET$/],
  [/ FOR$/, /^UPDATE$/, /^(?:|;|\)|OF|NOWAIT|SKIP)$/],
  [/ FOR NO KEY$/, /^UPDATE$/, /^(?:|;|\)|OF|NOWAIT|SKIP)$/],
  [/^ CREATE OR$/, /^ALTER$/, /./],
];
/** Actions of ALTER on a part of its object. */
const ALTERED = /^(?:COLUMN|CONSTRAINT|NOT|DEFAULT|PRIMARY|EXPRESSION|IDENTITY)$/;

/** A statement, or the text in one pair of parentheses. */
interface Scope {
  verb: string;
  state: "begins" | "is led" | "has a verb" | "is not a query";
  hasWhere: boolean;
  /** The last three words. */
  before: string[];
  readonly seen: Set<string>;
}

/** @returns undefined when the text is not certain */
export function readSql(text: string): SqlVerb[] | undefined {
  const tokens = text.length > SQL_CHARS_MAX ? undefined : tokensOf(text);
  if (tokens === undefined) return undefined;
  const all: Scope[] = [];
  let open: Scope[] = [];
  const begin = () => {
    const scope: Scope = {
      verb: "",
      state: "begins",
      hasWhere: false,
      before: [],
      seen: new Set(),
    };
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
      open.at(-1)?.before.push("()");
    } else if (!takeWord(open, token, tokens[index + 1] ?? "")) return undefined;
  }
  if (open.length !== 1 || all.some(({ state }) => state === "is led")) return undefined;
  const verbs = all.flatMap(({ verb, hasWhere }) => (verb === "" ? [] : [{ verb, hasWhere }]));
  return verbs.length === 0 ? undefined : verbs;
}

/** @returns whether it is certain */
function takeWord(open: readonly Scope[], word: string, next: string): boolean {
  const scope = open.at(-1);
  if (scope === undefined) return false;
  const { before } = scope;
  scope.before = [...before, word].slice(-3);
  scope.seen.add(word);
  if (scope.state === "begins") {
    if (LEADS.has(word)) scope.state = "is led";
    else if ((open.length === 1 ? VERBS : INNER_VERBS).has(word)) setVerb(scope, word);
    else if (open.length === 1) return false;
    else scope.state = "is not a query";
    return true;
  }
  // Behind these a reserved word is a name in some databases.
  const isName = before.at(-1) === "AS" || before.at(-1) === ".";
  if (scope.state === "is led") {
    // A query in front may have the name of a verb, except SELECT.
    const isQuery = word !== "SELECT" && (next === "AS" || next === "(");
    if (LED_TO.has(word) && !isQuery) setVerb(scope, word);
    return !isName || isQuery || !LED_TO.has(word);
  }
  if (word === "WHERE") {
    scope.hasWhere = true;
    // A WHERE behind RETURNING does not select rows.
    return !isName && !scope.seen.has("RETURNING");
  }
  // In T-SQL a second statement, with a WHERE of its own.
  if (NEEDS_WHERE.has(scope.verb) && word === "SELECT") return false;
  if (NEEDS_WHERE.has(scope.verb) && word === "WITH") return next === "(";
  return !CHANGES.has(word) || isPart(scope, before, word, next);
}

function isPart(scope: Scope, before: readonly string[], word: string, next: string): boolean {
  if (scope.verb === "GRANT" || scope.verb === "REVOKE") return !scope.seen.has("ON");
  if (scope.verb === "ALTER") return /^(?:DROP|ALTER)$/.test(word) && ALTERED.test(next);
  if (scope.verb === "MERGE" && before.at(-1) === "THEN") return INNER_VERBS.has(word);
  const text = ` ${before.join(" ")}`;
  return PARTS.some(([front, middle, back]) => {
    return front.test(text) && middle.test(word) && back.test(next);
  });
}

function setVerb(scope: Scope, verb: string): void {
  scope.verb = verb;
  scope.state = "has a verb";
}

/** Words in upper case, numbers and signs, with quoted names and texts as `'`. */
function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = [];
  let at = 0;
  while (at < text.length) {
    const found = nextToken(text, at);
    if (found === undefined) return undefined;
    if (found.token !== "") tokens.push(found.token);
    at = found.end;
  }
  return tokens;
}

/** With the sign of a variable or a qualified name: `.where` and `@where` are names. */
const WORD = /[.@:$]*[\p{L}\p{N}_][\p{L}\p{N}_$@]*/uy;

function nextToken(text: string, at: number): { token: string; end: number } | undefined {
  const letter = text.charAt(at);
  if (/[ \t\r\n\f]/.test(letter)) return { token: "", end: at + 1 };
  if (text.startsWith("--", at)) return skipLineComment(text, at);
  if (text.startsWith("/*", at)) return skipComment(text, at);
  if (letter === "'" || letter === '"' || letter === "`") return skipQuoted(text, at, letter);
  // `$tag$` quotes in one database and is a name in another.
  if (/^\$[\p{L}\p{N}_]*\$/u.test(text.slice(at, at + 100))) return undefined;
  WORD.lastIndex = at;
  const word = WORD.exec(text)?.[0];
  if (word !== undefined) {
    const end = at + word.length;
    // A prefix such as `q` or `r` changes how a text is quoted.
    if (/['"`#]/.test(text.charAt(end))) return undefined;
    return { token: /^[\x21-\x7e]+$/.test(word) ? word.toUpperCase() : word, end };
  }
  // Comments, quotes, templates and other spaces in some databases, and other signs in others.
  if (/[#[\]\\{}]|[^\x21-\x7e]/.test(letter)) return undefined;
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
  // One database runs `/*! ... */`; in some, comments can be nested.
  if (inside.startsWith("!") || inside.startsWith("M!") || inside.includes("/*")) return undefined;
  return { token: "", end: end + 2 };
}

function skipQuoted(text: string, start: number, quote: string) {
  if (text.startsWith(quote + quote, start + 1)) return undefined;
  for (let at = start + 1; at < text.length; at++) {
    // In one database it protects the quote behind it, in another it is a letter.
    if (text[at] === "\\") return undefined;
    if (text[at] !== quote) continue;
    if (text[at + 1] !== quote) return { token: "'", end: at + 1 };
    // Three in a row open a text over lines in one database.
    if (text[at + 2] === quote) return undefined;
    at++;
  }
  return undefined;
}
