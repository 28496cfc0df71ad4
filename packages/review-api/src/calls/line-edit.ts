/** Lines of file edits. Pure. */

import type { Call } from "./call.ts";
import type { Rendered } from "./call-line.ts";
import { counted, word } from "./call-words.ts";
import { type FileEdit, fileEditsIn } from "./file-edit.ts";

/** Like `Edit src/cart.ts +3 -1`, `Write src/x.ts, 120 lines` or `Patch 2 files: a.ts, b.ts`. */
export function editLine({ tool, args }: Call): Rendered | undefined {
  const edits = fileEditsIn(tool, args);
  const [first] = edits;
  if (first === undefined) return undefined;
  // Every member has a role: other arguments are not read as an edit.
  return { kind: "edit", text: textOf(first, edits), used: [...args.members.keys()] };
}

function textOf(first: FileEdit, edits: readonly FileEdit[]): string {
  if (first.kind === "patch") return patchText(first);
  if (first.kind === "whole") {
    return `Write ${word(first.path)}, ${counted(linesOf(first.after).length, "line")}`;
  }
  const changes = edits.map(changeOf);
  const sum = changes.reduce((all, { added, removed }) => {
    return { added: all.added + added, removed: all.removed + removed };
  });
  const places = edits.length === 1 ? "" : `, ${edits.length} places`;
  const matches = edits.some(({ isEverywhere }) => isEverywhere) ? ", every match" : "";
  return `Edit ${word(first.path)}${places}${matches} ${signed(sum)}`;
}

interface Change {
  readonly added: number;
  readonly removed: number;
}

function signed({ added, removed }: Change): string {
  return `+${added.toLocaleString("en")} -${removed.toLocaleString("en")}`;
}

/** The lines between the same first and the same last lines. */
function changeOf({ before, after }: FileEdit): Change {
  const [old, now] = [linesOf(before), linesOf(after)];
  const shorter = Math.min(old.length, now.length);
  let front = 0;
  while (front < shorter && old[front] === now[front]) front++;
  let back = 0;
  while (back < shorter - front && old.at(-1 - back) === now.at(-1 - back)) back++;
  return { added: now.length - front - back, removed: old.length - front - back };
}

/** The last line without an end of line is another one than with it. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

const FILES_MAX = 3;

function patchText({ path, after }: FileEdit): string {
  const files = path === "" ? filesOfPatch(after) : [path];
  const change = { added: 0, removed: 0 };
  for (const line of linesOf(after)) {
    if (line.startsWith("+") && !line.startsWith("+++ ")) change.added++;
    if (line.startsWith("-") && !line.startsWith("--- ")) change.removed++;
  }
  if (files.length === 0) return `Patch ${signed(change)}`;
  const shown = files.slice(0, FILES_MAX).map(word).join(", ");
  const rest = files.length - FILES_MAX;
  const names = rest > 0 ? `${shown} and ${counted(rest, "more file")}` : shown;
  const count = files.length === 1 ? "" : `${counted(files.length, "file")}: `;
  return `Patch ${count}${names} ${signed(change)}`;
}

const NAMES_FILE =
  /^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b\/)?|--- (?:a\/)?)(.+?)\r?$/;

/** The files that a patch names, without `/dev/null`. */
export function filesOfPatch(patch: string): string[] {
  const names = linesOf(patch).flatMap((line) => {
    const name = NAMES_FILE.exec(line.replace(/\n$/, "").slice(0, 5_000))?.[1];
    return name === undefined || name === "/dev/null" ? [] : [name];
  });
  return [...new Set(names)];
}
