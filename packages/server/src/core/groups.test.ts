import assert from "node:assert/strict";
import { test } from "node:test";
import { assertGroups, GROUPS_MAX, toGroups } from "./groups.ts";

test("a group has a short name of few characters", () => {
  for (const name of ["a", "0", "dba", "a.b_c-d", "x".repeat(64)]) {
    assertGroups([name]);
  }
  for (const name of ["", "A", "-a", ".a", "_a", "a b", "a:b", "a,b", "é", "a\n", "x".repeat(65)]) {
    assert.throws(() => assertGroups(["ok", name]), /^Problem: groups must be names/, name);
  }
});

test("a list of groups has at most 32 entries", () => {
  const names = Array.from({ length: GROUPS_MAX }, (_, i) => `g${i}`);
  assertGroups(names);
  assertGroups([...names, "g0"]);
  assert.throws(() => assertGroups([...names, "more"]), /groups must not be more than 32/);
});

test("groups are kept sorted, each once", () => {
  assert.deepEqual(toGroups(["b", "a", "b"]), ["a", "b"]);
});
