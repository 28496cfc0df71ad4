import assert from "node:assert/strict";
import { test } from "node:test";
import { ConditionError, compileCondition, compileText } from "./condition.ts";
import { evaluatePolicies, historyQueriesOf } from "./evaluate.ts";
import { examinePolicy } from "./examine.ts";
import { HISTORY_NAMES } from "./history.ts";
import { loadPolicy, PolicyError } from "./load.ts";
import type { LoadOptions, Policy } from "./rule.ts";

function load(source: string, options: LoadOptions = { kind: "project" }): Policy {
  return loadPolicy(source, options);
}

function faultsOf(source: string, options?: LoadOptions): string[] {
  try {
    load(source, options);
    return [];
  } catch (error) {
    assert.ok(error instanceof PolicyError, String(error));
    return error.findings.map(({ path, message }) => `${path}: ${message}`);
  }
}

function ofRule(rule: string, options?: LoadOptions): string[] {
  return faultsOf(`version: 1\nrules:\n  - { id: a, ${rule} }\n`, options);
}

function refusal(when: string): string {
  try {
    compileCondition(when);
    return "";
  } catch (error) {
    assert.ok(error instanceof ConditionError);
    return error.message;
  }
}

const BUDGET = `version: 1
rules:
  - id: small
    match: { tool: "pay.*" }
    when: history.approved("24h") < 5 && history.instance_calls("90s") < 10
    then: approve
  - id: flood
    when: history.instance_calls("10m") > 100
    then: deny
  - id: other
    match: { tool: other }
    when: history.calls("31d") == 0
    then: ask
tests:
  - name: the first one
    given: { tool: pay.it }
    expect: { then: approve, because: small }
  - name: the fifth one
    given: { tool: pay.it, history: { approved: { 24h: 4 }, instance_calls: { 90s: 9 } } }
    expect: { then: approve, because: small }
  - name: the sixth one
    given: { tool: pay.it, history: { approved: { 24h: 5 } } }
    expect: { then: ask, because: no-match }
  - name: too many at once
    given: { tool: pay.it, history: { instance_calls: { 10m: 101 } } }
    expect: { then: deny, because: flood }
  - name: as many as can be counted
    given: { tool: pay.it, history: { instance_calls: { 10m: 10000 } } }
    expect: { then: deny, because: flood }
  - name: more than that is no number
    given: { tool: pay.it, history: { instance_calls: { 10m: 10001 } } }
    expect: { then: ask, because: error }
`;

test("[ours.policy.budget] a condition asks how many calls there were, and a policy's tests say how many", () => {
  const { findings, tests } = examinePolicy({ kind: "project" }, BUDGET);
  assert.deepEqual(findings, []);
  assert.equal(tests.length, 6);
});

test("[ours.policy.budget] only what rules for the tool ask has to be counted, once", () => {
  const project = load(BUDGET);
  const queries = (tool: string) =>
    historyQueriesOf({ project, floor: project }, { tool }).map(({ name, windowMs }) => [
      name,
      windowMs,
    ]);
  assert.deepEqual(queries("pay.it").sort(), [
    ["approved", 86_400_000],
    ["instance_calls", 600_000],
    ["instance_calls", 90_000],
  ]);
  assert.deepEqual(queries("read"), [["instance_calls", 600_000]]);
  assert.deepEqual(
    historyQueriesOf({ project: load("version: 1\nrules: []\n") }, { tool: "pay.it" }),
    [],
  );
});

test("[ours.policy.budget.fails] without a counted history nothing is approved", () => {
  const project = load(BUDGET);
  const [first] = project.tests;
  assert.ok(first !== undefined);
  const { verb, because, errors } = evaluatePolicies(
    { project },
    { ...first.given, history: undefined },
  );
  assert.deepEqual([verb, because], ["ask", "error"]);
  assert.match(errors[0]?.message ?? "", /the history of calls is not available here/);
});

test("[ours.policy.budget.checked] a history function requires a literal and bounded time span", () => {
  for (const name of HISTORY_NAMES) assert.equal(refusal(`history.${name}("7d") > 0`), "");
  for (const span of ["1s", "90s", "15m", "24h", "31d", "744h"]) {
    assert.equal(refusal(`history.calls("${span}") > 0`), "", span);
  }
  for (const span of ["0s", "32d", "745h", "1w", "1", "", "1.5h", "-1h", "9999999s", "24 h"]) {
    assert.match(refusal(`history.calls("${span}") > 0`), /1s to 31d must be written out/, span);
  }
  for (const when of [
    "history.calls(args.span) > 0",
    'history.calls("1" + "h") > 0',
    "history.calls(60) > 0",
  ]) {
    assert.match(refusal(when), /must be written out/, when);
  }
  for (const when of [
    "history == history",
    "size(history) > 0",
    'history.refused("1h") > 0',
    "history.calls() > 0",
    'history.calls("1h", "2h") > 0',
    'history["calls"] > 0',
    "has(history.calls)",
    "history.calls > 0",
    '[history].exists(h, h.calls("1h") > 0)',
    "[1].exists(history, history > 0)",
  ]) {
    assert.notEqual(refusal(when), "", when);
  }
  assert.match(refusal('history.calls("1h")'), /must return true or false/);
  assert.match(refusal('history.calls("1h") == "5"'), /no such overload|no such operat/i);
});

test("[ours.policy.budget.checked] history is for the conditions of rules alone", () => {
  const when = 'history.calls("1h") < 5';
  assert.throws(() => compileCondition(when, { kind: "grant" }), /only in the `when` of a rule/);
  assert.throws(() => compileText('string(history.calls("1h"))'), /only in the `when` of a rule/);
});

test("[ours.policy.budget.checked] a policy asks for a bounded number of times, which are kept for as long", () => {
  const policyWith = (spans: number) =>
    `version: 1\nrules:\n${Array.from(
      { length: spans },
      (_, i) => `  - { id: r${i}, when: 'history.calls("${i + 1}h") > 0', then: deny }`,
    ).join("\n")}\n`;
  assert.deepEqual(faultsOf(policyWith(8)), []);
  assert.deepEqual(faultsOf(policyWith(9)), [
    "rules[8]: a policy has at most 8 different times of history",
  ]);
  assert.equal(faultsOf(policyWith(12)).length, 1);
  const week = { kind: "project", keptMs: 7 * 86_400_000 } as const;
  const rule = (span: string) => `when: 'history.calls("${span}") > 0', then: deny`;
  assert.deepEqual(ofRule(rule("7d"), week), []);
  assert.deepEqual(ofRule(rule("8d"), week), [
    "rules[0].when: this server keeps calls for 168h: use a shorter time",
  ]);
});

test("[ours.policy.proved] a rule that approves by history alone is rejected", () => {
  const when = "when: 'history.approved(\"24h\") < 5', then: approve";
  assert.match(ofRule(when)[0] ?? "", /must depend on a verified fact/);
  assert.deepEqual(ofRule(`match: { tool: pay }, ${when}`), []);
  assert.deepEqual(ofRule(`match: { tool: "*" }, ${when}`), []);
});

test("a test that gives what no rule asks, or no number, is a fault", () => {
  const faultsWith = (history: string) =>
    faultsOf(
      BUDGET.replace("given: { tool: pay.it }", `given: { tool: pay.it, history: ${history} }`),
    );
  assert.deepEqual(faultsWith("{ approved: { 24h: 3 } }"), []);
  assert.deepEqual(faultsWith("{ approved: { 86400s: 3 } }"), []);
  for (const history of [
    "{ approved: { 23h: 3 } }",
    "{ denied: { 24h: 3 } }",
    "{ aproved: { 24h: 3 } }",
    "{ approved: { 24h: -1 } }",
    "{ approved: { 24h: many } }",
    "{ approved: { day: 1 } }",
    "{ approved: 3 }",
    "3",
  ]) {
    assert.equal(faultsWith(history).length, 1, history);
  }
});
