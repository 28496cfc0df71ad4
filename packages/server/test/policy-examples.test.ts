/**
 * The policies that we give away and those that the documentation shows: each loads without a
 * warning, passes its own tests, and has a test for every condition of an approval.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { JsonObject } from "@countersign/protocol";
import { type Condition, ConditionError, compileCondition } from "../src/policy/condition.ts";
import { evaluatePolicies } from "../src/policy/evaluate.ts";
import { evaluateConditions } from "../src/policy/evaluate-conditions.ts";
import type { Expression } from "../src/policy/expression.ts";
import { interpret } from "../src/policy/interpret.ts";
import { loadPolicy, PolicyError } from "../src/policy/load.ts";
import { runPolicyTests } from "../src/policy/policy-tests.ts";
import type { Call, Match, Policy, Rule } from "../src/policy/rule.ts";

const ROOT = join(import.meta.dirname, "../../..");
const EXAMPLES = join(ROOT, "examples/policies");
const PAGES = [
  "README.md",
  "docs/guides/policy.md",
  "docs/guides/people.md",
  "docs/guides/passkeys.md",
  "docs/reference/policy.md",
  "docs/tutorials/refund-agent.md",
];

interface Shown {
  readonly name: string;
  readonly source: string;
  readonly kind: "project" | "floor";
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function examples(): Shown[] {
  const names = readdirSync(EXAMPLES).filter((name) => name.endsWith(".yaml"));
  return names.map((name) => ({
    name,
    source: readFileSync(join(EXAMPLES, name), "utf8"),
    kind: name === "floor.yaml" ? "floor" : "project",
  }));
}

/** YAML blocks of a page; an opening line with `floor` or `floor.yaml` marks a baseline policy. */
function blocks(page: string): Shown[] {
  const found = read(page).matchAll(/^```yaml(.*)\n([\s\S]*?)^```$/gm);
  return [...found].map(([, about = "", source = ""], index) => ({
    name: `${page}, block ${index + 1}`,
    source,
    kind: about.includes("floor") ? "floor" : "project",
  }));
}

/** The faults of the policy, in plain text; empty when it has none. */
function faultsOf({ source, kind }: Shown): string[] {
  try {
    const policy = loadPolicy(source, { kind });
    const warnings = policy.warnings.map(({ line, message }) => `line ${line}: ${message}`);
    return [...warnings, ...failures(policy)];
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return error.findings.map(({ line, message }) => `line ${line}: ${message}`);
  }
}

function failures(policy: Policy): string[] {
  return runPolicyTests(policy)
    .filter(({ passed }) => !passed)
    .map(({ line, name, expected, got }) => `line ${line}: ${name}: ${expected}, not ${got}`);
}

test("[ours.policy.examples] every example loads without a warning and passes its own tests", () => {
  const shown = examples();
  assert.ok(shown.length >= 5);
  for (const each of shown) assert.deepEqual(faultsOf(each), [], each.name);
});

test("[ours.policy.examples] every rule of an example decides in one of its tests", () => {
  for (const { name, source, kind } of examples()) {
    const policy = loadPolicy(source, { kind });
    const deciding = new Set(policy.tests.map(({ expect }) => expect.because));
    const silent = policy.rules.filter(({ id }) => !deciding.has(id)).map(({ id }) => id);
    assert.deepEqual(silent, [], name);
  }
});

test("[ours.policy.examples] no example approves a tool by a pattern", () => {
  for (const { name, source, kind } of examples()) {
    for (const { id, verb, match } of loadPolicy(source, { kind }).rules) {
      if (verb !== "approve") continue;
      const exact = match.tools?.every(({ literal }) => literal !== undefined);
      assert.equal(exact, true, `${name}: ${id}`);
    }
  }
});

test("[ours.policy.examples] no approval leans on the rules that ask or deny", () => {
  for (const { name, source, kind } of examples()) {
    const policy = loadPolicy(source, { kind });
    const rules = policy.rules.filter(({ verb }) => verb === "approve");
    assert.deepEqual(wronglyApproved(policy, rules), [], name);
  }
});

test("[ours.policy.examples] an approval without one part of its condition fails a test", () => {
  const unneeded: string[] = [];
  for (const { name, source, kind } of examples()) {
    const policy = loadPolicy(source, { kind });
    for (const rule of policy.rules.filter(({ verb }) => verb === "approve")) {
      for (const [without, weaker] of weakerForms(rule)) {
        const noticed = wronglyApproved(policy, [weaker]).length > 0;
        if (!noticed) unneeded.push(`${name}: ${without} of ${rule.id}`);
      }
    }
  }
  assert.deepEqual(unneeded, []);
});

/** The tests whose calls these rules alone approve, although the policy should not. */
function wronglyApproved(policy: Policy, rules: readonly Rule[]): (string | undefined)[] {
  const project = { ...policy, rules };
  return policy.tests
    .filter(({ expect }) => expect.verb !== "approve")
    .filter(({ given }) => evaluatePolicies({ project }, given).verb === "approve")
    .map(({ name }) => name);
}

/** The rule with each of its conditions left out in turn. */
function weakerForms(rule: Rule): [string, Rule][] {
  const forms: [string, Rule][] = [];
  if (rule.match.groups !== undefined) {
    const match: Match = { ...rule.match, groups: undefined };
    forms.push(["the group", { ...rule, match }]);
  }
  if (rule.when === undefined) return forms;
  const parts = conjuncts(rule.when.expression);
  for (const [index, part] of parts.entries()) {
    const others = parts.filter((_, other) => other !== index);
    const when = others.length === 0 ? undefined : together(rule.when, others);
    const start = rule.when.source.slice(part.at, part.at + 40);
    forms.push([`\`${start}\``, { ...rule, when }]);
  }
  return forms;
}

function conjuncts(expression: Expression): Expression[] {
  if (expression.kind !== "binary" || expression.operator !== "&&") return [expression];
  return [...conjuncts(expression.left), ...conjuncts(expression.right)];
}

function together(whole: Condition, parts: readonly Expression[]): Condition {
  const expression = parts.reduce((left, right) => ({
    kind: "binary",
    at: left.at,
    operator: "&&",
    left,
    right,
  }));
  const step = interpret(expression);
  return { ...whole, expression, evaluate: (scope) => step(scope) === true };
}

test("[ours.policy.documented] every policy that the documentation shows loads and passes", () => {
  for (const page of PAGES) {
    const shown = blocks(page);
    assert.ok(shown.length > 0, page);
    for (const each of shown) assert.deepEqual(faultsOf(each), [], each.name);
  }
});

/** The rows of the tables below `## Functions` and `## Macros`: name and example. */
function documented(): { name: string; example: string }[] {
  const [, section = ""] = /^## Functions$(.*?)^## /ms.exec(read("docs/reference/policy.md")) ?? [];
  const rows = section.matchAll(/^\| `(?:\w+\.)?(\w+)\(.*\| `([^`]+)` \|$/gm);
  return [...rows].map(([, name = "", example = ""]) => ({ name, example }));
}

/** The names that the compiler itself lists. */
function known(): string[] {
  try {
    compileCondition("nosuch(args)");
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    const [, names = ""] = /: use (.*)$/.exec(error.message) ?? [];
    return names.split(", ").sort();
  }
  return [];
}

test("[ours.policy.documented] each function has its row in the reference, and each row its function", () => {
  const rows = documented().map(({ name }) => name);
  assert.deepEqual([...new Set(rows)].sort(), known());
});

const CALL: Call = {
  tool: "refunds.create",
  args: new JsonObject(new Map(), "{}"),
  context: undefined,
  instance: { id: "00000000-0000-7000-8000-000000000000", name: "bot", groups: ["support-bots"] },
  now: Date.parse("2026-11-21T10:00:00Z"),
};

test("[ours.policy.documented] every example of a function is true", () => {
  for (const { name, example } of documented()) {
    const condition = compileCondition(example);
    const [outcome] = evaluateConditions([{ condition, tool: CALL.tool }], CALL);
    assert.deepEqual(outcome, { holds: true, error: undefined }, `${name}: ${example}`);
  }
});
