import assert from "node:assert/strict";
import { test } from "node:test";
import { ruleIdsIn } from "./policy-text.ts";

test("the ids of rules are found in every block layout, and no other ids", () => {
  const source = `version: 1
rules:
  - id: first # comment
    match:
      instance:
        id: 01a1fb6b-1c22-7d0e-9c37-0000f00dabcd
    then: ask
    ask:
      escalate:
        - id: no-rule
  - match: { tool: a }
    id: "second"
  - { id: third, then: deny }
  # - id: removed
  - id:
tests:
  - given:
      instance:
        id: no-rule
`;
  assert.deepEqual(ruleIdsIn(source), ["first", "second", "third"]);
  assert.deepEqual(ruleIdsIn("rules:\n- id: a\n  then: ask\n- id: a\n"), ["a"]);
  assert.deepEqual(ruleIdsIn("version: 1\n"), []);
});
