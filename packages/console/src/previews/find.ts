/** Where in arguments commands and SQL stand. Pure. */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { stringsIn } from "./leaves.ts";
import { readSql, type SqlVerb } from "./sql.ts";

const COMMANDS = new Set(["command", "cmd", "script", "shell_command", "bash"]);
const SHELLS = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da|k)?sh$/;

/** The commands for a shell among the outermost members. */
export function commandsIn(args: JsonValue): string[] {
  if (!(args instanceof JsonObject)) return [];
  return [...args.members].flatMap(([key, value]) => {
    if (!COMMANDS.has(key)) return [];
    if (typeof value === "string") return [value];
    const [shell, flag, command] = value instanceof JsonArray ? value.items : [];
    const isShell = typeof shell === "string" && SHELLS.test(shell);
    const isCommand = typeof flag === "string" && /^-[a-z]*c$/.test(flag);
    return isShell && isCommand && typeof command === "string" ? [command] : [];
  });
}

export interface FoundSql {
  readonly path: string;
  readonly verbs: readonly SqlVerb[];
}

const SQL_KEYS = /(?:^|[.\]])(?:sql|statements?|query|queries)(?:\[\d+\])?$/i;
const SQL_TOOLS =
  /sql|postgres|sqlite|maria|oracle|snowflake|bigquery|duckdb|(?:^|[._-])db(?:$|[._-])/i;
/** What nobody writes into a field for looking something up. */
const SQL_SHAPES = [
  /^\s*select\b[\s\S]*\bfrom\b/i,
  /^\s*(?:insert\s+into|delete\s+from|truncate)\b/i,
  /^\s*update\s+\S+\s+set\b/i,
  /^\s*(?:drop|alter|create)\s+\w+\s/i,
  /^\s*with\s+\S+\s+as\s*\(/i,
];

/** The SQL in arguments: what is called so, and looks so or is for a tool that takes SQL. */
export function sqlIn(tool: string, args: JsonValue): FoundSql[] {
  return stringsIn(args).flatMap(({ path, value }) => {
    if (!SQL_KEYS.test(path)) return [];
    const isNamed = /sql|statements?/i.test(path) || SQL_TOOLS.test(tool);
    if (!isNamed && !SQL_SHAPES.some((shape) => shape.test(value))) return [];
    const verbs = readSql(value);
    return verbs === undefined ? [] : [{ path, verbs }];
  });
}
