/**
 * One readable line for a call, from a registry of renderers. The line never claims less than the
 * exact arguments: what it leaves out is counted in `more`. Its text comes from the agent. Pure.
 */

import type { JsonObject } from "@countersign/protocol";
import { type Call, readArguments } from "./call.ts";
import type { CallLine, LineRenderer, Rendered } from "./call-line.ts";
import { counted, cut, scalarWord } from "./call-words.ts";
import { kubernetesLine, mailLine, paymentLine, webLine } from "./line-business.ts";
import { commandLine, sqlLine } from "./line-command.ts";
import { editLine } from "./line-edit.ts";

/** The first that knows the call renders it. */
const RENDERERS: readonly LineRenderer[] = [
  editLine,
  commandLine,
  sqlLine,
  paymentLine,
  mailLine,
  kubernetesLine,
  webLine,
  genericLine,
];

/** Characters of a line. */
const LINE_CHARS_MAX = 240;

/** @returns undefined for arguments that are too long, or not a JSON object */
export function describeCall(
  tool: string,
  server: string | undefined,
  argumentsSource: string,
): CallLine | undefined {
  const args = readArguments(argumentsSource);
  return args === undefined ? undefined : lineOf({ tool, server, args });
}

/** @param custom renderers before the built-in ones */
export function lineOf(call: Call, custom: readonly LineRenderer[] = []): CallLine | undefined {
  for (const render of [...custom, ...RENDERERS]) {
    const rendered = render(call);
    if (rendered !== undefined) return finish(rendered, call.args);
  }
  return undefined;
}

function finish({ kind, text, used }: Rendered, { members }: JsonObject): CallLine {
  const { head, rest } = cut(text, LINE_CHARS_MAX);
  const left = [...members.keys()].filter((name) => !used.includes(name)).length;
  const more = [
    ...(rest > 0 ? [counted(rest, "more character")] : []),
    ...(left > 0 ? [counted(left, "more argument")] : []),
  ];
  return {
    kind,
    text: head.replaceAll("\n", " ⏎ "),
    ...(more.length > 0 && { more: more.join(" and ") }),
  };
}

/** The line and what it leaves out, as one text. */
export function lineText({ text, more }: CallLine): string {
  return more === undefined ? text : `${text} (and ${more})`;
}

/** Members that usually say the most, in this order; others follow as sent. */
const TELLING = ["action", "operation", "to", "repo", "path", "file_path", "name", "id", "title"];

const GENERIC_MAX = 4;

/** Like `repo: acme/web, title: "Fix the build"`. */
function genericLine({ args: { members } }: Call): Rendered {
  if (members.size === 0) return { kind: "call", text: "No arguments", used: [] };
  const names = [...members.keys()];
  const ordered = [...TELLING.filter((one) => members.has(one)), ...names];
  const shown = [...new Set(ordered)].flatMap((name) => {
    const value = scalarWord(members.get(name));
    return value === undefined ? [] : [{ name, value }];
  });
  const chosen = shown.slice(0, GENERIC_MAX);
  return {
    kind: "call",
    text: chosen.map(({ name, value }) => `${scalarWord(name)}: ${value}`).join(", "),
    used: chosen.map(({ name }) => name),
  };
}
