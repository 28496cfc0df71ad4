import assert from "node:assert/strict";
import { test } from "node:test";
import { hunksOf } from "./edit-hunks.ts";

test("[ours.request.previews] removed and added lines of a patch that look like headers are changes", () => {
  const after = "@@ -1 +1 @@\n--- old comment\n+++ new comment\n";
  const hunks = hunksOf({ path: "", kind: "patch", before: "", after, isEverywhere: false });
  assert.deepEqual(
    hunks.flat().map(({ kind }) => kind),
    ["same", "removed", "added"],
  );
});

test("[ours.request.previews] an edit shows the removed and added lines, and a new file only added ones", () => {
  const edit = { path: "a", isEverywhere: false } as const;
  const lines = (kind: "part" | "whole", before: string, after: string) =>
    hunksOf({ ...edit, kind, before, after })
      .flat()
      .map(({ kind: line, text }) => `${line} ${text}`);
  assert.deepEqual(lines("part", "x\n", "y\n"), ["removed x\n", "added y\n"]);
  assert.deepEqual(lines("whole", "", "1\n2"), ["added 1\n", "added 2"]);
  assert.deepEqual(lines("whole", "", ""), []);
});
