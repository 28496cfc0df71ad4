/**
 * A unified diff of two texts by lines. Pure, and bounded: what would take too long is shown as
 * all of the one against all of the other, which is true as well.
 */

import { diffArrays } from "diff";

export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Consecutive lines of the file. */
export type Hunk = readonly DiffLine[];

const CONTEXT_LINES = 3;

/** With more different lines, the diff is not the shortest one. */
const EDITS_MAX = 600;

/** @returns nothing when the texts are the same */
export function lineDiff(before: string, after: string): Hunk[] {
  return hunksOf(diffLines(linesOf(before), linesOf(after)));
}

/** Every line of both, in order. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const changes = diffArrays([...before], [...after], { maxEditLength: EDITS_MAX });
  if (changes === undefined) return [...lines("removed", before), ...lines("added", after)];
  return changes.flatMap(({ added, removed, value }) =>
    lines(added ? "added" : removed ? "removed" : "same", value),
  );
}

/** The last line without an end of line is another one than with it. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function lines(kind: DiffLine["kind"], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

/** The changed lines with a few lines of context. */
function hunksOf(all: readonly DiffLine[]): Hunk[] {
  const isNear = new Array<boolean>(all.length).fill(false);
  all.forEach(({ kind }, index) => {
    if (kind === "same") return;
    const last = Math.min(all.length - 1, index + CONTEXT_LINES);
    for (let near = Math.max(0, index - CONTEXT_LINES); near <= last; near++) isNear[near] = true;
  });
  const hunks: DiffLine[][] = [];
  all.forEach((line, index) => {
    if (!isNear[index]) return;
    if (index === 0 || !isNear[index - 1]) hunks.push([]);
    hunks.at(-1)?.push(line);
  });
  return hunks;
}
