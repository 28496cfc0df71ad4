import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentlyUsed } from "./recently-used.ts";

test("the least recently used entry is evicted first, and a read is a use", () => {
  const kept = new RecentlyUsed<string, number>(2);
  kept.set("a", 1);
  kept.set("b", 2);
  assert.equal(kept.get("a"), 1);
  kept.set("c", 3);
  assert.deepEqual([kept.get("a"), kept.get("b"), kept.get("c"), kept.size], [1, undefined, 3, 2]);
});

test("a new value for a known key pushes nothing out", () => {
  const kept = new RecentlyUsed<string, number>(2);
  for (const [key, value] of [
    ["a", 1],
    ["b", 2],
    ["a", 3],
  ] as const)
    kept.set(key, value);
  assert.deepEqual([kept.get("a"), kept.get("b"), kept.size], [3, 2, 2]);
});
