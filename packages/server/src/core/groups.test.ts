import assert from "node:assert/strict";
import { test } from "node:test";
import { GROUPS_MAX, groupsFault, toGroups } from "./groups.ts";

test("a group has a short name of few characters", () => {
  for (const name of ["a", "0", "dba", "a.b_c-d", "x".repeat(64)]) {
    assert.equal(groupsFault([name]), undefined, name);
  }
  for (const name of ["", "A", "-a", ".a", "_a", "a b", "a:b", "a,b", "é", "a\n", "x".repeat(65)]) {
    assert.match(groupsFault(["ok", name]) ?? "", /must be names/, name);
  }
});

test("nobody is in more groups than a person can overlook", () => {
  const names = Array.from({ length: GROUPS_MAX }, (_, i) => `g${i}`);
  assert.equal(groupsFault(names), undefined);
  assert.equal(groupsFault([...names, "g0"]), undefined, "the same twice is once");
  assert.match(groupsFault([...names, "more"]) ?? "", /not be more than 32/);
});

test("groups are kept sorted, each once", () => {
  assert.deepEqual(toGroups(["b", "a", "b"]), ["a", "b"]);
});
