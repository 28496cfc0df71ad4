/**
 * A unified diff of two texts by lines. Pure, and bounded: what would take too long is told as
 * all of the one against all of the other, which is true as well.
 */

export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Lines that stand together in the file. */
export type Hunk = readonly DiffLine[];

const CONTEXT_LINES = 3;

/** Lines that differ, beyond which the shortest diff is not looked for. */
const EDITS_MAX = 600;

/** @returns nothing when the texts are the same */
export function lineDiff(before: string, after: string): Hunk[] {
  return hunksOf(diffLines(linesOf(before), linesOf(after)));
}

/** Every line of both, in order. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const middle = changed(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
  );
  return [
    ...lines("same", before.slice(0, start)),
    ...middle,
    ...lines("same", before.slice(before.length - end)),
  ];
}

/** The last line without an end of line is another one than with it. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function lines(kind: DiffLine["kind"], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

/** @see Myers, An O(ND) difference algorithm and its variations, 1986 */
function changed(before: readonly string[], after: readonly string[]): DiffLine[] {
  if (before.length === 0 || after.length === 0) {
    return [...lines("removed", before), ...lines("added", after)];
  }
  const rounds = furthestPaths(before, after);
  if (rounds === undefined) return [...lines("removed", before), ...lines("added", after)];
  return backtrack(before, after, rounds);
}

/** How far each diagonal comes with 0, 1, 2... edits; undefined where that takes too many. */
function furthestPaths(
  before: readonly string[],
  after: readonly string[],
): Map<number, number>[] | undefined {
  const rounds: Map<number, number>[] = [];
  let reach = new Map([[1, 0]]);
  const most = Math.min(before.length + after.length, EDITS_MAX);
  for (let edits = 0; edits <= most; edits++) {
    rounds.push(new Map(reach));
    const next = new Map(reach);
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = stepFrom(reach, diagonal, edits);
      while (x < before.length && before[x] === after[x - diagonal]) x++;
      next.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return rounds;
    }
    reach = next;
  }
  return undefined;
}

function stepFrom(reach: ReadonlyMap<number, number>, diagonal: number, edits: number): number {
  const down = reach.get(diagonal + 1) ?? -1;
  const right = reach.get(diagonal - 1) ?? -1;
  const goesDown = diagonal === -edits || (diagonal !== edits && right < down);
  return goesDown ? down : right + 1;
}

function backtrack(
  before: readonly string[],
  after: readonly string[],
  rounds: readonly Map<number, number>[],
): DiffLine[] {
  const found: DiffLine[] = [];
  let x = before.length;
  let y = after.length;
  for (let edits = rounds.length - 1; edits >= 0; edits--) {
    const reach = rounds[edits] ?? new Map<number, number>();
    const diagonal = x - y;
    const down = reach.get(diagonal + 1) ?? -1;
    const right = reach.get(diagonal - 1) ?? -1;
    const goesDown = diagonal === -edits || (diagonal !== edits && right < down);
    const fromX = edits === 0 ? 0 : goesDown ? down : right;
    const fromY = edits === 0 ? 0 : fromX - (goesDown ? diagonal + 1 : diagonal - 1);
    while (x > fromX && y > fromY) {
      found.push({ kind: "same", text: before[x - 1] ?? "" });
      x--;
      y--;
    }
    if (edits === 0) break;
    if (goesDown) found.push({ kind: "added", text: after[fromY] ?? "" });
    else found.push({ kind: "removed", text: before[fromX] ?? "" });
    x = fromX;
    y = fromY;
  }
  return found.reverse();
}

/** What has changed with a few lines around it. */
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
