/** Finds shell commands and SQL in arguments. Pure. */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { type Placed, stringsIn, valuesIn } from "./leaves.ts";
import { type ShellPiece, splitShell } from "./shell.ts";
import { readSql, type SqlVerb } from "./sql.ts";

export const COMMANDS = new Set(["command", "cmd", "script", "shell_command", "bash"]);
const SHELLS = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da|k)?sh$/;
/** Members that add to a command what its text does not contain. */
const ADDITIONS = /^(?:args?|arguments|argv|params|parameters|stdin|input)$/i;

/** Texts of several lines, other than commands. */
export function textsIn(args: JsonValue): Placed<string>[] {
  return stringsIn(args).filter(({ key, value }) => /\n./s.test(value) && !COMMANDS.has(key));
}

/** @returns the pieces of each command; nothing when one of them is not certain */
export function commandsIn(args: JsonValue): ShellPiece[][] {
  if (!(args instanceof JsonObject)) return [];
  const keys = valuesIn(args).filter(({ key }) => COMMANDS.has(key));
  if (keys.length === 0 || [...args.members.keys()].some((key) => ADDITIONS.test(key))) return [];
  const outermost = keys.filter(({ depth }) => depth === 1);
  const nested = keys.length - outermost.length;
  const items = outermost.map(({ value }) => (value instanceof JsonArray ? value.items.length : 0));
  if (nested !== items.reduce((sum, count) => sum + count, 0)) return [];
  const commands = outermost.map(({ value }) => {
    const text = commandOf(value);
    return text === undefined ? undefined : splitShell(text);
  });
  return commands.every((command) => command !== undefined) ? commands : [];
}

/** A text, or the arguments of a shell that runs one text. */
function commandOf(value: JsonValue): string | undefined {
  if (typeof value === "string") return value;
  if (!(value instanceof JsonArray) || value.items.length !== 3) return undefined;
  const [shell, flag, command] = value.items;
  const isShell = typeof shell === "string" && SHELLS.test(shell);
  const isCommand = typeof flag === "string" && /^-[a-z]*c$/.test(flag);
  return isShell && isCommand && typeof command === "string" ? command : undefined;
}

export const SQL_KEYS = /^(?:sql|statements?|query|queries)$/i;
const SQL_TOOLS =
  /sql|postgres|sqlite|maria|oracle|snowflake|bigquery|duckdb|(?:^|[._-])db(?:$|[._-])/i;
/** Shapes that distinguish SQL from the query of a search. */
const SQL_SHAPES = [
  /^\s*select\b[\s\S]*\bfrom\b/i,
  /^\s*(?:insert\s+into|delete\s+from|truncate)\b/i,
  /^\s*update\s+\S+\s+set\b/i,
  /^\s*(?:drop|alter|create)\s+\w+\s/i,
  /^\s*with\s+\S+\s+as\s*\(/i,
];

/** The texts of SQL; nothing when no text is certainly SQL. */
export function sqlTextsIn(tool: string, args: JsonValue): Placed<string>[] {
  const texts = stringsIn(args).filter(({ key }) => SQL_KEYS.test(key));
  const isSql = texts.some(
    ({ key, value }) =>
      /sql|statements?/i.test(key) ||
      SQL_TOOLS.test(tool) ||
      SQL_SHAPES.some((shape) => shape.test(value)),
  );
  return isSql ? texts : [];
}

/** @returns the verbs of all SQL in order; nothing when one text is not certain */
export function sqlIn(tool: string, args: JsonValue): SqlVerb[] {
  const verbs = sqlTextsIn(tool, args).map(({ value }) => readSql(value));
  return verbs.every((one) => one !== undefined) ? verbs.flat() : [];
}
