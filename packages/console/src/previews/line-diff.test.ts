import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type DiffLine, diffLines, lineDiff } from "./line-diff.ts";

const SIGNS = { same: " ", removed: "-", added: "+" };

function written(hunk: readonly DiffLine[]): string {
  return hunk.map(({ kind, text }) => SIGNS[kind] + text).join("");
}

test("[ours.request.previews] a diff shows what has changed with three lines around it", () => {
  const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n";
  const after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\nthirteen\n";
  assert.deepEqual(lineDiff(before, after).map(written), [
    " 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
    " 10\n 11\n 12\n-13\n+thirteen\n",
  ]);
  assert.deepEqual(lineDiff("a", "a\n").map(written), ["-a+a\n"]);
  assert.deepEqual(lineDiff("", "x").map(written), ["+x"]);
  assert.deepEqual(lineDiff("same\n", "same\n"), []);
});

const TEXT = fc.array(fc.constantFrom("a", "b", "c", "d", ""), { maxLength: 30 });

test("[ours.request.previews] the diff contains exactly both texts", () => {
  fc.assert(
    fc.property(TEXT, TEXT, (before, after) => {
      const lines = diffLines(before, after);
      const of = (other: string) =>
        lines.filter(({ kind }) => kind !== other).map(({ text }) => text);
      assert.deepEqual(of("added"), before);
      assert.deepEqual(of("removed"), after);
      const common = lines.filter(({ kind }) => kind === "same").length;
      assert.equal(common, commonLength(before, after), "as short as can be");
    }),
  );
});

function commonLength(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const letter of a) {
    const next = [0];
    b.forEach((other, index) => {
      next.push(
        letter === other ? (row[index] ?? 0) + 1 : Math.max(next[index] ?? 0, row[index + 1] ?? 0),
      );
    });
    row = next;
  }
  return row.at(-1) ?? 0;
}

test("[ours.request.previews] texts with nothing in common are shown as one removed and one added", () => {
  const before = Array.from({ length: 5_000 }, (_, n) => `old ${n}`);
  const after = Array.from({ length: 5_000 }, (_, n) => `new ${n}`);
  const lines = diffLines(before, after);
  assert.equal(lines.length, 10_000);
  assert.deepEqual([lines[0]?.kind, lines[9_999]?.kind], ["removed", "added"]);
});
