/** How policies and grants match the server that a call names. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluatePolicies } from "./evaluate.ts";
import { findMatchingTerms } from "./grant-terms.ts";
import { loadPolicy, PolicyError } from "./load.ts";
import { callOf, policyOf } from "./policy-fixture.ts";
import { runPolicyTests } from "./policy-tests.ts";

function verbFor(rules: readonly string[], server: string | undefined): string {
  const call = { ...callOf({ tool: "read" }), server };
  return evaluatePolicies({ project: policyOf(rules) }, call).verb;
}

const NAMES = ["github", "gitlab", "prod-db", undefined];

function answers(...rules: readonly string[]): readonly string[] {
  return NAMES.map((server) => verbFor(rules, server));
}

test("[ours.extensions.server.policy] a rule that approves a tool covers the servers that it names, and calls without a server when it names none", () => {
  assert.deepEqual(answers("id: a, match: { tool: read }, then: approve"), [
    "ask",
    "ask",
    "ask",
    "approve",
  ]);
  assert.deepEqual(answers("id: a, match: { tool: read, server: 'git*' }, then: approve"), [
    "approve",
    "approve",
    "ask",
    "ask",
  ]);
  assert.deepEqual(answers("id: a, match: { tool: read, server: '*' }, then: approve"), [
    "approve",
    "approve",
    "approve",
    "ask",
  ]);
});

test("[ours.extensions.server.policy] a rule that denies or asks covers every server, unless it names some", () => {
  const approve = ["id: a, match: { tool: read, server: '*' }, then: approve"];
  approve.push("id: b, match: { tool: read }, then: approve");
  assert.deepEqual(answers(...approve, "id: c, match: { tool: read }, then: deny"), [
    "deny",
    "deny",
    "deny",
    "deny",
  ]);
  assert.deepEqual(answers(...approve, "id: c, match: { server: [github, x] }, then: deny"), [
    "deny",
    "approve",
    "approve",
    "approve",
  ]);
  assert.deepEqual(answers(...approve, "id: c, match: { server: prod-db }, then: ask"), [
    "approve",
    "approve",
    "ask",
    "approve",
  ]);
});

test("[ours.extensions.server.policy] a server is a name that proves nothing: no approval rests on it", () => {
  for (const match of ["{ server: github }", '{ tool: "*", server: github }']) {
    const load = () => policyOf([`id: a, match: ${match}, then: approve`]);
    assert.throws(load, (error: unknown) => {
      assert.ok(error instanceof PolicyError);
      return /must depend on a verified fact/.test(JSON.stringify(error.findings));
    });
  }
});

test("[ours.extensions.server.policy] the tests of a policy say which server a call names", () => {
  const policy = loadPolicy(
    `version: 1
rules:
  - { id: a, match: { tool: read, server: github }, then: approve }
tests:
  - { given: { tool: read, server: github }, expect: { then: approve, because: a } }
  - { given: { tool: read, server: gitlab }, expect: { then: ask } }
  - { given: { tool: read }, expect: { then: ask } }
`,
    { kind: "project" },
  );
  const outcomes = runPolicyTests(policy);
  assert.deepEqual(
    outcomes.map(({ passed }) => passed),
    [true, true, true],
  );
});

test("[ours.extensions.server.policy] a grant answers calls of exactly the server that it names, and of none when it names none", () => {
  const terms = [{ tool: "read" }, { tool: "read", server: "github" }];
  const fitting = (server: string | undefined) => {
    const found = findMatchingTerms(terms, { ...callOf({ tool: "read" }), server });
    return terms.map((one) => found.has(one));
  };
  assert.deepEqual(fitting(undefined), [true, false]);
  assert.deepEqual(fitting("github"), [false, true]);
  assert.deepEqual(fitting("gitlab"), [false, false]);
});
