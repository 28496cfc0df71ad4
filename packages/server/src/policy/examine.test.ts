import assert from "node:assert/strict";
import { test } from "node:test";
import { examinePolicy } from "./examine.ts";

const SOURCE = `version: 1
rules:
  - { id: all, match: { tool: "*" }, then: approve }
tests:
  - { given: { tool: a }, expect: { then: approve } }
  - { given: { tool: b }, expect: { then: deny } }
  - { given: { tool: c }, expect: { then: approve } }
`;

/** A clock that advances by one step on each read. */
function clockOf(stepMs: number): { monotonic(): number } {
  let now = 0;
  return {
    monotonic: () => {
      now += stepMs;
      return now;
    },
  };
}

test("[ours.policy.check.bounded] tests that take too long together are a fault, and the rest is not run", () => {
  const { findings, tests } = examinePolicy({ kind: "project" }, SOURCE, clockOf(2_500));
  assert.equal(tests.length, 2);
  assert.match(findings[0]?.message ?? "", /expected deny, got approve/);
  assert.match(findings[1]?.message ?? "", /took longer than 5 s/);
  assert.deepEqual([findings[1]?.line, findings[1]?.path], [6, "tests[1]"]);
  const quick = examinePolicy({ kind: "project" }, SOURCE, clockOf(1));
  assert.deepEqual([quick.tests.length, quick.findings.length], [3, 1]);
  assert.equal(examinePolicy({ kind: "project" }, SOURCE).tests.length, 3);
});
