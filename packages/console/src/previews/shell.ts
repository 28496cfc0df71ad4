/**
 * A shell command at its joints: what runs, and what stands between. Quotes, substitutions and
 * redirections are kept together. Whatever could be read otherwise than here (heredocs, comments,
 * loops, functions, `$'...'`, what does not end) has no preview at all.
 *
 * Pure. Promises: all pieces in a row are the command, letter for letter.
 */

export interface ShellPiece {
  readonly kind: "command" | "joint";
  readonly text: string;
}

/** The command has another structure than one line of commands. */
const KEYWORDS = new Set([
  ...["if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac"],
  ...["select", "function", "{", "}", "[[", "!", "time", "coproc"],
]);

const JOINTS = ["&&", "||", "|&", "|", ";", "\n", "&"];

/** @returns undefined for what is not understood */
export function splitShell(command: string): ShellPiece[] | undefined {
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
    const next = skipPart(command, at);
    if (next === undefined) return undefined;
    at = next;
  }
  take("command", at);
  return pieces.every(isPlain) && isJoined(pieces) ? pieces : undefined;
}

/** What ends a command here; `&` of a redirection does not. */
function jointAt(command: string, at: number): string | undefined {
  const joint = JOINTS.find((one) => command.startsWith(one, at));
  if (joint !== "&") return joint;
  const isRedirection = /[<>]/.test(command[at - 1] ?? "") || command[at + 1] === ">";
  return isRedirection ? undefined : joint;
}

function isPlain({ kind, text }: ShellPiece): boolean {
  if (kind === "joint") return true;
  const [word = ""] = text.trim().split(/\s/, 1);
  return !KEYWORDS.has(word);
}

/** Nothing is missing between two joints, except at the end of a line. */
function isJoined(pieces: readonly ShellPiece[]): boolean {
  let isOpen = false;
  let mayEnd = true;
  for (const { kind, text } of pieces) {
    if (kind === "command" && text.trim() !== "") {
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

/** @returns behind one letter, quoted text or substitution; undefined for what is not understood */
function skipPart(text: string, at: number): number | undefined {
  const letter = text.charAt(at);
  if (letter === "\\") return at + 2 <= text.length ? at + 2 : undefined;
  if (letter === "'") return behind(text, "'", at + 1);
  if (letter === '"') return skipDoubleQuotes(text, at);
  if (letter === "`") return skipBackticks(text, at);
  if (letter === "$") return skipDollar(text, at);
  if (letter === "<" && text[at + 1] === "<") {
    return text[at + 2] === "<" ? at + 3 : undefined;
  }
  if ((letter === "<" || letter === ">") && text[at + 1] === "(") {
    return skipParentheses(text, at + 1);
  }
  if (letter === "(") return skipParentheses(text, at);
  if (letter === ")") return undefined;
  if (letter === "#" && /^$|[\s;&|()]/.test(text[at - 1] ?? "")) return undefined;
  // Another end of line than a shell knows.
  if (letter === "\r" || letter === "\0") return undefined;
  return at + 1;
}

function behind(text: string, end: string, from: number): number | undefined {
  const at = text.indexOf(end, from);
  return at === -1 ? undefined : at + 1;
}

function skipDoubleQuotes(text: string, start: number): number | undefined {
  let at: number | undefined = start + 1;
  while (at !== undefined && at < text.length) {
    const letter = text[at];
    if (letter === '"') return at + 1;
    if (letter === "\\") at += 2;
    else if (letter === "`") at = skipBackticks(text, at);
    else if (letter === "$" && "({".includes(text[at + 1] ?? " ")) at = skipDollar(text, at);
    else at++;
  }
  return undefined;
}

function skipBackticks(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "`") return at + 1;
  }
  return undefined;
}

function skipDollar(text: string, at: number): number | undefined {
  const next = text[at + 1];
  if (next === "(") return skipParentheses(text, at + 1);
  if (next === "'" || next === '"') return undefined;
  if (next !== "{") return at + 1;
  const end = behind(text, "}", at);
  if (end === undefined) return undefined;
  // With quotes or substitutions in it, its end may be elsewhere.
  return /["'`\\$\n]/.test(text.slice(at + 2, end)) ? undefined : end;
}

function skipParentheses(text: string, start: number): number | undefined {
  let at: number | undefined = start + 1;
  while (at !== undefined && at < text.length) {
    if (text[at] === ")") return at + 1;
    at = skipPart(text, at);
  }
  return undefined;
}
