/** The changed lines of a file edit. Pure. */

import type { FileEdit } from "@countersign/review-api/calls";
import { type DiffLine, type Hunk, lineDiff } from "./line-diff.ts";

export function hunksOf({ kind, before, after }: FileEdit): readonly Hunk[] {
  return kind === "patch" ? [patchLines(after)] : lineDiff(before, after);
}

function patchLines(patch: string): DiffLine[] {
  return patch.split(/(?<=\n)/).map((text) => ({ kind: kindOf(text), text }));
}

/** Header lines count as changes: a removed line `-- x` looks like one. */
function kindOf(line: string): DiffLine["kind"] {
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "same";
}
