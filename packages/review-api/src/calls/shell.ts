/**
 * Splits a shell command into simple commands and the operators between them. Quotes,
 * substitutions, subshells and redirections stay inside their command. Text that shells could read
 * in another way (heredocs, comments, loops, functions, `$'...'`, open quotes) has no preview.
 *
 * Pure. Promises: the pieces in a row are the command, letter for letter; bounded recursion.
 * `tools/fuzz/preview-targets.ts` compares it with bash.
 */

export interface ShellPiece {
  readonly kind: "command" | "joint";
  readonly text: string;
}

const COMMAND_CHARS_MAX = 100_000;
/** Substitutions and subshells inside each other. */
const DEPTH_MAX = 50;

/** First words of compound commands, which this does not read. */
const KEYWORDS = new Set([
  "if",
  "then",
  "else",
  "elif",
  "fi",
  "for",
  "foreach",
  "while",
  "until",
  "do",
  "done",
  "end",
  "repeat",
  "esac",
  "select",
  "function",
  "{",
  "}",
  "[[",
  "!",
  "time",
  "coproc",
]);
/** `case` patterns have a `)` without a `(`, also inside substitutions. */
const CASE = /(?<![\w-])case(?![\w-])/;
/** `name ()` defines a function. */
const FUNCTION = /\([ \t]*\)/;
/** bash reads operators inside the open subscript of an assignment as part of it. */
const SUBSCRIPT = /(?:^|\s)[A-Za-z_]\w*\[/;

const JOINTS = ["&&", "||", "|&", "|", ";", "\n", "&"];
/** The longest first. */
const REDIRECTIONS = ["<<<", "&>>", ">>", ">&", ">|", "<&", "<>", "&>", "<", ">"];
/** A shell that is not bash runs what comes behind this target as another command. */
const BOTH_REDIRECTED = /^&>>?[ \t]*[\w./-]+[ \t]*(?:$|[;&|\n)])/;

const BLANK = /^[ \t\n]*$/;

/** @returns undefined when the command is not certain */
export function splitShell(command: string): ShellPiece[] | undefined {
  if (command.length > COMMAND_CHARS_MAX) return undefined;
  if (CASE.test(command) || FUNCTION.test(command)) return undefined;
  const pieces: ShellPiece[] = [];
  let from = 0;
  let at = 0;
  const take = (kind: ShellPiece["kind"], to: number) => {
    if (to > from) pieces.push({ kind, text: command.slice(from, to) });
    from = to;
  };
  while (at < command.length) {
    const joint = jointAt(command, at);
    if (joint !== undefined) {
      take("command", at);
      at += joint.length;
      take("joint", at);
      continue;
    }
    const next = skipPart(command, at, 0);
    if (next === undefined) return undefined;
    at = next;
  }
  take("command", at);
  return pieces.every(isPlain) && isJoined(pieces) ? pieces : undefined;
}

function jointAt(command: string, at: number): string | undefined {
  if (command.startsWith("&>", at)) return undefined;
  return JOINTS.find((one) => command.startsWith(one, at));
}

export function isBlank({ text }: ShellPiece): boolean {
  return BLANK.test(text);
}

function isPlain({ kind, text }: ShellPiece): boolean {
  if (kind === "joint") return true;
  const words = text.replaceAll("\\\n", " ").replace(/^[ \t\n]+/, "");
  const [first = ""] = words.split(/[\s()<>]/, 1);
  return !KEYWORDS.has(first) && !SUBSCRIPT.test(text.slice(text.lastIndexOf("]") + 1));
}

/** Nothing is missing between two joints, except at the end of a line. */
function isJoined(pieces: readonly ShellPiece[]): boolean {
  let isOpen = false;
  let mayEnd = true;
  for (const piece of pieces) {
    const { kind, text } = piece;
    if (kind === "command" && !isBlank(piece)) {
      isOpen = true;
      mayEnd = true;
    } else if (kind === "joint") {
      if (!isOpen && text !== "\n") return false;
      if (text !== "\n") mayEnd = text === ";" || text === "&";
      isOpen = false;
    }
  }
  return mayEnd && pieces.length > 0;
}

/** @returns the index behind one letter, quoted text or substitution; undefined when uncertain */
function skipPart(text: string, at: number, depth: number): number | undefined {
  if (depth > DEPTH_MAX) return undefined;
  const letter = text.charAt(at);
  if (letter === "\\") return skipEscape(text, at);
  if (letter === "'") return behind(text, "'", at + 1);
  if (letter === '"') return skipDoubleQuotes(text, at, depth);
  if (letter === "`") return skipBackticks(text, at);
  if (letter === "$") return skipDollar(text, at, depth);
  if (letter === "<" || letter === ">" || text.startsWith("&>", at)) {
    return skipRedirection(text, at, depth);
  }
  if (letter === "(") return skipParentheses(text, at, depth);
  if (letter === ")") return undefined;
  if (letter === "#" && /^$|[\s;&|()<>]/.test(text[at - 1] ?? "")) return undefined;
  // Shells disagree about these, and about spaces beyond ASCII.
  if (/[\r\0\v\f]/.test(letter)) return undefined;
  return at + 1;
}

/** A line continuation inside a word or an operator would join its halves. */
function skipEscape(text: string, at: number): number | undefined {
  if (at + 1 >= text.length) return undefined;
  if (text[at + 1] === "\n" && !/^$|[ \t\n]/.test(text[at - 1] ?? "")) return undefined;
  return at + 2;
}

function skipRedirection(text: string, at: number, depth: number): number | undefined {
  if (text[at + 1] === "(" && text[at] !== "&") return skipParentheses(text, at + 1, depth);
  const operator = REDIRECTIONS.find((one) => text.startsWith(one, at)) ?? "";
  if (operator.startsWith("&") && !BOTH_REDIRECTED.test(text.slice(at, at + 300))) return undefined;
  if (operator === "<" && text[at + 1] === "<") return undefined;
  return at + operator.length;
}

function behind(text: string, end: string, from: number): number | undefined {
  const at = text.indexOf(end, from);
  return at === -1 ? undefined : at + 1;
}

function skipDoubleQuotes(text: string, start: number, depth: number): number | undefined {
  let at: number | undefined = start + 1;
  while (at !== undefined && at < text.length) {
    const letter = text[at];
    if (letter === '"') return at + 1;
    if (letter === "\\") at = text[at - 1] === "$" ? undefined : at + 2;
    else if (letter === "`") at = skipBackticks(text, at);
    else if (letter === "$" && /[({[]/.test(text[at + 1] ?? "")) at = skipDollar(text, at, depth);
    else at++;
  }
  return undefined;
}

/** Shells disagree about quotes, comments and escapes inside. */
function skipBackticks(text: string, start: number): number | undefined {
  const end = behind(text, "`", start + 1);
  return end === undefined || /["'\\#$()<]/.test(text.slice(start, end)) ? undefined : end;
}

function skipDollar(text: string, at: number, depth: number): number | undefined {
  const next = text[at + 1];
  if (next === "(") return skipParentheses(text, at + 1, depth);
  // `$[` is arithmetic in one shell and text in another.
  if (next === "'" || next === '"' || next === "[") return undefined;
  if (next !== "{") return at + 1;
  const end = behind(text, "}", at);
  if (end === undefined) return undefined;
  // With quotes or substitutions in it, its end may be elsewhere.
  return /["'`\\$\n{(<>]/.test(text.slice(at + 2, end)) ? undefined : end;
}

function skipParentheses(text: string, start: number, depth: number): number | undefined {
  let at: number | undefined = start + 1;
  while (at !== undefined && at < text.length) {
    if (text[at] === ")") return at + 1;
    at = skipPart(text, at, depth + 1);
  }
  return undefined;
}
