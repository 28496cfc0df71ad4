/** Lines of shell commands and SQL. Pure. */

import { JsonArray, type JsonValue } from "@countersign/protocol";
import { type Call, onlyTextKey } from "./call.ts";
import type { Rendered } from "./call-line.ts";
import { word } from "./call-words.ts";
import { SQL_KEYS, sqlIn } from "./find.ts";
import { NEEDS_WHERE } from "./sql.ts";

const COMMAND_KEYS = ["command", "cmd", "shell_command", "bash", "script"];
const FOLDER_KEYS = ["cwd", "workdir", "working_directory", "directory", "dir_path"];
const LIST_KEYS = ["args", "argv", "arguments"];
/** Members that a shell tool shows and does not run. */
const WORDS_ABOUT = ["description", "explanation"];
const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:ba|z|da|k)?sh$/;

/** Like `$ rm -rf build`, with the folder before the `$` if the call names it. */
export function commandLine({ args }: Call): Rendered | undefined {
  const { members } = args;
  const [key, ...others] = COMMAND_KEYS.filter((one) => members.has(one));
  // An editor tool names its action `command`. A tool can run any of several commands.
  if (key === undefined || others.length > 0 || members.has("path")) return undefined;
  const command = commandText(members.get(key));
  if (command === undefined) return undefined;
  const listKey = LIST_KEYS.find((one) => stringsOf(members.get(one)) !== undefined);
  const list = listKey === undefined ? [] : (stringsOf(members.get(listKey)) ?? []);
  const folderKey = onlyTextKey(args, FOLDER_KEYS);
  const folder = folderKey === undefined ? undefined : members.get(folderKey);
  const front = typeof folder === "string" && folder !== "" ? `${word(folder)} ` : "";
  return {
    kind: "command",
    text: `${front}$ ${[command, ...list.map(word)].join(" ")}`,
    used: [key, listKey, folderKey, ...WORDS_ABOUT],
  };
}

function commandText(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  const words = stringsOf(value);
  if (words === undefined || words.length === 0) return undefined;
  const [shell = "", flag = "", command] = words;
  const isShell = words.length === 3 && SHELL.test(shell) && /^-[a-z]*c$/.test(flag);
  return isShell && command !== undefined ? command : words.map(word).join(" ");
}

function stringsOf(value: JsonValue | undefined): string[] | undefined {
  if (!(value instanceof JsonArray)) return undefined;
  const strings = value.items.filter((item) => typeof item === "string");
  return strings.length === value.items.length ? strings : undefined;
}

const DATABASE_KEYS = ["database", "db", "connection", "schema", "environment"];

/** Like `SQL on prod, no WHERE: DELETE FROM customers`. */
export function sqlLine({ tool, args }: Call): Rendered | undefined {
  const { members } = args;
  const verbs = sqlIn(tool, args);
  const keys = [...members.keys()].filter((one) => SQL_KEYS.test(one));
  const [key] = keys;
  const text = key === undefined ? undefined : members.get(key);
  const isSql = verbs.length > 0 || /^(?:sql|statement)$/i.test(key ?? "");
  if (keys.length !== 1 || typeof text !== "string" || !isSql) return undefined;
  const databaseKey = onlyTextKey(args, DATABASE_KEYS);
  const database = databaseKey === undefined ? undefined : members.get(databaseKey);
  const place = typeof database === "string" ? ` on ${word(database)}` : "";
  const isEveryRow = verbs.some(({ verb, hasWhere }) => NEEDS_WHERE.has(verb) && !hasWhere);
  const warning = isEveryRow ? ", no WHERE" : "";
  return { kind: "sql", text: `SQL${place}${warning}: ${text.trim()}`, used: [key, databaseKey] };
}
