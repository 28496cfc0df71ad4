/** Conditions and rules that are drafted from a call. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { addToPolicy } from "@countersign/review-api/policy-text";
import { type RuleOrder, ruleFor } from "./rule.ts";
import { closedCondition, describeChoice, openCondition, termsOf } from "./terms.ts";

const fixedAll = (text: string) => {
  const terms = termsOf(text);
  return { terms, fixed: new Set(terms.map(({ name }) => name)) };
};

test("[ours.request.more] a condition fixes the chosen values, and allows no further argument", () => {
  const terms = termsOf('{"currency":"GBP","amount":4900,"deep":{"a":1}}');
  const choice = { terms, fixed: new Set(["currency", "deep"]) };
  assert.equal(
    closedCondition(choice),
    'size(args) == 3 && args.currency == "GBP" && "amount" in args && "deep" in args',
  );
  assert.equal(describeChoice(choice), 'where currency is "GBP", with any value of amount, deep');
  assert.equal(closedCondition(fixedAll("{}")), "size(args) == 0");
});

test("[ours.request.more] hostile names and values are literals, or are never fixed", () => {
  const cases: [string, string][] = [
    ['{"a b":"x"}', 'args["a b"] == "x"'],
    ['{"in":"x"}', 'args["in"] == "x"'],
    ['{"a":"\\" || true || \\""}', 'args.a == "\\" || true || \\""'],
    ['{"a":"line\\nbreak \u202e \u{1f600}"}', 'args.a == "line\\u000abreak \\u202e \\U0001f600"'],
    ['{"a":9007199254740993}', "args.a == 9007199254740993"],
    ['{"a":1e400}', '"a" in args'],
    ['{"a":1.10}', '"a" in args'],
    ['{"a":99999999999999999999}', '"a" in args'],
    ['{"a":"\\ud800"}', '"a" in args'],
    ['{"a":null}', "args.a == null"],
  ];
  for (const [text, condition] of cases) {
    assert.equal(closedCondition(fixedAll(text)), `size(args) == 1 && ${condition}`, text);
  }
});

test("[ours.request.more] a further argument does not get around a denial", () => {
  const terms = termsOf('{"path":"/etc/passwd","depth":1.5}');
  const choice = { terms, fixed: new Set(["path", "depth"]) };
  assert.equal(openCondition(choice), 'args.path == "/etc/passwd"');
  assert.equal(openCondition({ terms, fixed: new Set() }), undefined);
  const rule = ruleFor({ ...ORDER, ...choice, verdict: "deny" }).rule;
  assert.deepEqual(rule.slice(2), ["  when: 'args.path == \"/etc/passwd\"'", "  then: deny"]);
});

const ORDER: RuleOrder = {
  ...fixedAll('{"env":"it\'s"}'),
  requestId: "01a1fb6b-1c22-7d0e-9c37-0000f00dabcd",
  tool: "deploy: now",
  server: undefined,
  argumentsText: '{\n "env":"it\'s"\n}',
  verdict: "approve",
};

test("[ours.request.more] a rule is added at the end of the rules, with a test, and comments stay", () => {
  const source = [
    "version: 1",
    "# Ours.",
    "rules:",
    "  - id: a # first",
    "    then: ask",
    "",
    "# Tests follow.",
    "tests: []",
    "two_person: true",
    "",
  ].join("\n");
  const text = ruleFor(ORDER);
  assert.equal(
    addToPolicy(source, text),
    [
      "version: 1",
      "# Ours.",
      "rules:",
      "  - id: a # first",
      "    then: ask",
      "  - id: approve-deploy-now-00f00d",
      '    match: { tool: "deploy: now" }',
      "    when: 'size(args) == 1 && args.env == \"it''s\"'",
      "    then: approve",
      "",
      "# Tests follow.",
      "tests:",
      '  - name: "the call of request 01a1fb6b-1c22-7d0e-9c37-0000f00d"',
      '    given: { tool: "deploy: now", args: { "env":"it\'s" } }',
      "    expect: { then: approve, because: approve-deploy-now-00f00d }",
      "two_person: true",
      "",
    ].join("\n"),
  );
});

test("[ours.request.more] the first policy is complete, and another layout is not changed", () => {
  const text = ruleFor(ORDER);
  assert.match(addToPolicy(undefined, text) ?? "", /^version: 1\nrules:\n {2}- id: approve-/);
  assert.equal(addToPolicy("version: 1\nrules: [{ id: a, then: ask }]\n", text), undefined);
  assert.equal(addToPolicy("{ version: 1 }\n", text), undefined);
});

test("[ours.request.more] the wildcards in the name of a tool are literal in its rule", () => {
  const { rule, test } = ruleFor({ ...ORDER, tool: "files.*", server: "a\\b" });
  assert.equal(rule[1], '  match: { tool: "files.\\\\*", server: "a\\\\\\\\b" }');
  assert.ok(test[1]?.includes('tool: "files.*", server: "a\\\\b"'), test[1]);
});
