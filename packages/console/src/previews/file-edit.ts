/** The edits of files that coding agents ask for, in the shapes in which they send them. Pure. */

import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { type DiffLine, type Hunk, lineDiff } from "./line-diff.ts";

export interface FileEdit {
  readonly path: string;
  readonly hunks: readonly Hunk[];
  /** `part`: of the file; `whole`: all that will be in it; `patch`: as the agent wrote it. */
  readonly kind: "part" | "whole" | "patch";
  /** Every place that matches is changed. */
  readonly isEverywhere: boolean;
}

const PATHS = ["file_path", "path", "filename", "notebook_path"];
const CONTENTS = ["content", "file_text", "new_source"];
const PATCHES = ["patch", "diff", "input"];

/** @returns nothing where the arguments are no edit */
export function fileEditsIn(args: JsonValue): FileEdit[] {
  if (!(args instanceof JsonObject)) return [];
  const path = textOf(args, PATHS);
  const patch = textOf(args, PATCHES);
  if (patch !== undefined && isPatch(patch)) {
    const kind = "patch";
    return [
      { path: path ?? pathsOf(patch), hunks: [patchLines(patch)], kind, isEverywhere: false },
    ];
  }
  if (path === undefined) return [];
  const edits = args.members.get("edits");
  if (edits instanceof JsonArray) {
    const all = edits.items.map((item) => replacement(path, item));
    return all.every((edit) => edit !== undefined) ? all : [];
  }
  const part = replacement(path, args);
  if (part !== undefined) return [part];
  const content = textOf(args, CONTENTS);
  if (content === undefined) return [];
  return [{ path, hunks: lineDiff("", content), kind: "whole", isEverywhere: false }];
}

function replacement(path: string, value: JsonValue): FileEdit | undefined {
  if (!(value instanceof JsonObject)) return undefined;
  const before = textOf(value, ["old_string", "old_str"]);
  const after = textOf(value, ["new_string", "new_str"]);
  if (before === undefined || after === undefined) return undefined;
  const isEverywhere = value.members.get("replace_all") === true;
  return { path, hunks: lineDiff(before, after), kind: "part", isEverywhere };
}

function textOf({ members }: JsonObject, keys: readonly string[]): string | undefined {
  const key = keys.find((one) => typeof members.get(one) === "string");
  return key === undefined ? undefined : (members.get(key) as string);
}

function isPatch(text: string): boolean {
  return /^\*\*\* Begin Patch\r?\n/.test(text.trimStart()) || /^(?:---|\+\+\+|@@) /m.test(text);
}

function pathsOf(patch: string): string {
  const named = [
    ...patch.matchAll(/^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/gm),
  ];
  return named.map(([, name = ""]) => name).join(", ");
}

/** A patch says itself what goes and what comes; each line stands as it was written. */
function patchLines(patch: string): DiffLine[] {
  return patch.split(/(?<=\n)/).map((text) => ({ kind: kindOf(text), text }));
}

function kindOf(line: string): DiffLine["kind"] {
  if (line.startsWith("+") && !line.startsWith("+++ ")) return "added";
  return line.startsWith("-") && !line.startsWith("--- ") ? "removed" : "same";
}
