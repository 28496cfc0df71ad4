/** Signals of shell commands and SQL. Pure. */

import { type Call, isNamed } from "./call.ts";
import { COMMANDS, sqlTextsIn } from "./find.ts";
import { type Placed, stringsIn } from "./leaves.ts";
import { programOf, type WordedCommand, wordsOfCommands } from "./shell-words.ts";
import { type Signal, signal } from "./signal.ts";
import { NEEDS_WHERE, readSql } from "./sql.ts";

export function noWhereSignal({ tool, args }: Call): Signal | undefined {
  for (const { path, value } of sqlTextsIn(tool, args)) {
    const found = readSql(value)?.find(({ verb, hasWhere }) => NEEDS_WHERE.has(verb) && !hasWhere);
    if (found === undefined) continue;
    return signal("no_where", `${found.verb} without WHERE: it affects every row.`, path);
  }
  return undefined;
}

const CHANGES_ROWS = /\b(?:update|delete)\b/i;

export function unclearSqlSignal({ tool, args }: Call): Signal | undefined {
  const found = sqlTextsIn(tool, args).find(
    ({ value }) => CHANGES_ROWS.test(value) && readSql(value) === undefined,
  );
  if (found === undefined) return undefined;
  const text = "Databases can read this SQL in different ways, so its WHERE was not checked.";
  return signal("unclear_sql", text, found.path);
}

/** Texts that a shell may run. */
function commandsOf({ args }: Call): Placed<string>[] {
  return stringsIn(args).filter(({ key }) => COMMANDS.has(key));
}

/** The first command with a fact, with its path. */
function findCommand(
  call: Call,
  factOf: (commands: readonly WordedCommand[]) => string | undefined,
): { fact: string; path: string } | undefined {
  // The items of an argument list have one name, and are one command.
  const texts = new Map<string, string>();
  for (const { path, value } of commandsOf(call)) {
    const list = path.replace(/\[\d+\]$/, "");
    texts.set(list, texts.has(list) ? `${texts.get(list)} ${value}` : value);
  }
  for (const [path, text] of texts) {
    const fact = factOf(wordsOfCommands(text));
    if (fact !== undefined) return { fact, path };
  }
  return undefined;
}

const INTERPRETER = /^(?:(?:ba|z|da|k|fi)?sh|python[\d.]*|perl|ruby|node|pwsh|powershell|iex)$/;
const DOWNLOAD = /^(?:curl|wget|fetch|http|https|invoke-webrequest|iwr)$/;
/** Programs that run the rest of their words. */
const PREFIX = /^(?:sudo|doas|env|nohup|exec|command|time|-.*|.*=.*)$/;

export function pipeSignal(call: Call): Signal | undefined {
  const found = findCommand(call, (commands) => {
    for (const [index, { before, words }] of commands.entries()) {
      const program = programOf(words.find((one) => !PREFIX.test(one)) ?? "");
      if (/^\|&?$/.test(before) && INTERPRETER.test(program)) return `a pipe to ${program}`;
      const front = commands[index - 1]?.words.map(programOf) ?? [];
      const isInside = /^(?:`|\(|<\()$/.test(before);
      const runner = front.find((one) => INTERPRETER.test(one) || /^(?:eval|source|\.)$/.test(one));
      if (isInside && DOWNLOAD.test(program) && runner !== undefined) {
        return `${runner} of what ${program} downloads`;
      }
    }
    return undefined;
  });
  if (found === undefined) return undefined;
  return signal("pipe_to_shell", `The command contains ${found.fact}.`, found.path);
}

export function recursiveSignal(call: Call): Signal | undefined {
  const found = findCommand(call, (commands) => {
    for (const { words } of commands) {
      const programs = words.map(programOf);
      const at = programs.findIndex((one) => /^(?:rm|remove-item|ri|rmdir|rd|del)$/.test(one));
      const flag = at === -1 ? undefined : words.slice(at + 1).find(isRecursive);
      if (flag !== undefined) return `${programs[at]} ${flag}`.slice(0, 60);
      if (programs.includes("find") && words.includes("-delete")) return "find -delete";
    }
    return undefined;
  });
  if (found !== undefined) {
    return signal("recursive_delete", `The command contains ${found.fact}.`, found.path);
  }
  const isDelete = isNamed(call, /^(?:delete|remove|rm|rmdir|unlink)$/);
  if (!isDelete || call.args.members.get("recursive") !== true) return undefined;
  return signal("recursive_delete", "The call deletes with recursive: true.", "recursive");
}

function isRecursive(word: string): boolean {
  return /^-[a-zA-Z]*[rR][a-zA-Z]*$/.test(word) || /^(?:--recursive|-recurse|\/s)$/i.test(word);
}

export function forcePushSignal(call: Call): Signal | undefined {
  const found = findCommand(call, (commands) => {
    for (const { words } of commands) {
      const git = words.findIndex((one) => programOf(one) === "git");
      const push = git === -1 ? -1 : words.indexOf("push", git);
      const flag = push === -1 ? undefined : words.slice(push + 1).find(isForce);
      if (flag !== undefined) return `git push ${flag}`.slice(0, 60);
    }
    return undefined;
  });
  if (found !== undefined) {
    return signal("force_push", `The command contains ${found.fact}.`, found.path);
  }
  const isPush = isNamed(call, /^push$/);
  if (!isPush || call.args.members.get("force") !== true) return undefined;
  return signal("force_push", "The call pushes with force: true.", "force");
}

function isForce(word: string): boolean {
  return /^(?:-[a-zA-Z]*f[a-zA-Z]*|--force(?:-with-lease|-if-includes)?(?:=.*)?|\+.+)$/.test(word);
}
