import assert from "node:assert/strict";
import { test } from "node:test";
import { loadPolicy } from "./load.ts";
import { runPolicyTests, type TestOutcome } from "./policy-tests.ts";

const RULES = `version: 1
rules:
  - { id: small, match: { tool: pay }, when: args.amount < 5000, then: approve, valid_for: 2m }
  - id: big
    match: { tool: pay }
    when: args.amount >= 5000
    then: ask
    ask:
      from: [group:b, group:a]
      quorum: 2
      exclude: owner
      confirm: type(args.to)
      within: 30m
      escalate: [{ after: 9m, to: group:d }, { after: 5m, to: group:c }]
tests:
`;

function run(tests: string): readonly TestOutcome[] {
  return runPolicyTests(loadPolicy(RULES + tests, { kind: "project" }));
}

function passes(expect: string, args = "{ amount: 9000, to: ana }"): boolean {
  const [outcome] = run(`  - { given: { tool: pay, args: ${args} }, expect: ${expect} }\n`);
  assert.ok(outcome !== undefined);
  return outcome.passed;
}

test("[ours.policy.tests] a test says what was expected and what came, in the order of the file", () => {
  const outcomes = run(`  - name: small
    given: { tool: pay, args: { amount: 1 } }
    expect: { then: approve, because: small, valid_for: 2m }
  - given: { tool: pay, args: {} }
    expect: { then: approve, because: small }
`);
  assert.deepEqual(outcomes, [
    {
      index: 0,
      name: "small",
      line: 16,
      passed: true,
      expected: "approve, because small, valid_for 2m",
      got: "approve, because small, valid_for 2m",
    },
    {
      index: 1,
      name: undefined,
      line: 19,
      passed: false,
      expected: "approve, because small",
      got:
        "ask, because error (big: there is no field `amount`; big: there is no field `to`; " +
        "small: there is no field `amount`)",
    },
  ]);
});

test("[ours.policy.tests] a test compares only the fields that it names", () => {
  assert.ok(passes("{ then: ask }"));
  assert.ok(passes("{ then: ask, because: big }"));
  assert.ok(!passes("{ then: ask, because: small }"));
  assert.ok(!passes("{ then: deny }"));
  assert.ok(passes("{ then: ask, ask: {} }"));
  assert.ok(!passes("{ then: ask, valid_for: 2m }"));
});

test("[ours.policy.tests] every part of what is asked for can be compared", () => {
  const right = [
    "quorum: 2",
    "from: [group:a, group:b]",
    "from: [[group:b, group:a]]",
    "exclude: owner",
    "confirm: type(ana)",
    "confirm: type",
    "note: optional",
    "within: 30m",
    "grants: true",
    "bots: false",
    "escalate: [{ after: 9m, to: group:d }, { after: 5m, to: group:c }]",
    "escalate: [{ after: 300s, to: group:c }, { after: 9m, to: group:d }]",
  ];
  const wrong = [
    "quorum: 1",
    "from: group:a",
    "from: [[group:a], [group:b]]",
    "from: []",
    "exclude: []",
    "confirm: type(li)",
    "confirm: click",
    "note: required",
    "within: 5m",
    "grants: false",
    "bots: true",
    "escalate: []",
    "escalate: [{ after: 5m, to: group:c }]",
    "escalate: [{ after: 9m, to: group:c }, { after: 5m, to: group:d }]",
  ];
  for (const ask of right) assert.ok(passes(`{ then: ask, ask: { ${ask} } }`), ask);
  for (const ask of wrong) assert.ok(!passes(`{ then: ask, ask: { ${ask} } }`), ask);
});

test("[ours.policy.exact-numbers] the numbers of a test are those that are written", () => {
  const because = (number: string) => {
    const args = `{ amount: ${number}, to: ana }`;
    return ["small", "big", "inexact"].filter((id) =>
      passes(`{ then: ask, because: ${id} }`, args),
    );
  };
  assert.deepEqual(because("9007199254740993"), ["big"]);
  assert.deepEqual(because("5e3"), ["big"]);
  assert.deepEqual(because("1e400"), ["big"]);
  assert.deepEqual(because("4999.99999999999999999"), ["inexact"]);
});

test("[ours.policy.tool-change] a test expects the reason for a call of a changed tool", () => {
  const change = "{ tool_definition_change: {} }";
  const given = `{ tool: pay, args: { amount: 1, to: a }, context: ${change} }`;
  const expect = "{ then: ask, because: tool_definition_change, ask: { grants: false } }";
  const [outcome] = run(`  - { given: ${given}, expect: ${expect} }\n`);
  assert.equal(outcome?.passed, true, outcome?.got);
});
