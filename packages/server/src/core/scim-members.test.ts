import assert from "node:assert/strict";
import { test } from "node:test";
import { compareMembers } from "./scim-members.ts";

test("members are added, removed or kept, in the order of their list", () => {
  assert.deepEqual(compareMembers(["a", "b", "c"], ["d", "c", "a"]), {
    added: ["d"],
    removed: ["b"],
    kept: ["a", "c"],
  });
  assert.deepEqual(compareMembers([], []), { added: [], removed: [], kept: [] });
});

test("the number of reads grows with the number of members", () => {
  let reads = 0;
  const count = (members: readonly string[]) =>
    new Proxy(members, {
      get(target, key, receiver) {
        reads++;
        return Reflect.get(target, key, receiver);
      },
    });
  const before = Array.from({ length: 1_000 }, (_, at) => `m${at}`);
  compareMembers(count(before), count(before.toReversed()));
  assert.ok(reads < 10_000, `${reads} reads`);
});
