import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluatePolicies } from "./evaluate.ts";
import { loadPolicy, PolicyError } from "./load.ts";
import { callOf } from "./policy-fixture.ts";
import { findTemplates } from "./renderers.ts";
import type { LoadOptions } from "./rule.ts";

function load(renderers: string, kind: LoadOptions["kind"] = "project") {
  return loadPolicy(`version: 1\nrules: []\nrenderers:\n${renderers}`, { kind });
}

function findingsOf(renderers: string, kind: LoadOptions["kind"] = "project"): string[] {
  try {
    load(renderers, kind);
  } catch (error) {
    assert.ok(error instanceof PolicyError);
    return error.findings.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

test("[ours.policy.renderers] a renderer applies to each tool that its pattern matches", () => {
  const { renderers } = load(
    '  - { tool: "refunds.*", line: "Refund {amount}" }\n' +
      '  - { tool: [create_issue, x], line: "Issue {title} in {repo.name}" }\n',
  );
  const found = (tool: string, server?: string) => findTemplates(renderers, { tool, server });
  assert.deepEqual(found("refunds.create"), [["Refund ", ["amount"]]]);
  assert.deepEqual(found("mcp__github__create_issue"), found("create_issue", "github"));
  assert.deepEqual(found("x"), [["Issue ", ["title"], " in ", ["repo", "name"]]]);
  assert.deepEqual(found("y"), []);
});

test("[ours.policy.renderers] a renderer does not change the result of a policy", () => {
  const project = load('  - { tool: "*", line: "{a}" }\n');
  assert.equal(evaluatePolicies({ project }, callOf({ tool: "a" })).because, "no-match");
});

test("[ours.policy.renderers] an invalid renderer is an error of the file, at its place", () => {
  assert.deepEqual(findingsOf('  - { tool: a, line: "Refund" }\n'), [
    "renderers[0].line: the line names no argument, such as {amount}",
  ]);
  assert.deepEqual(findingsOf('  - { tool: a, line: "{a b}" }\n'), [
    "renderers[0].line: the line has {a b}, which is not a path such as {customer.id}",
  ]);
  assert.deepEqual(findingsOf("  - { tool: a }\n"), ["renderers[0]: `line` is missing"]);
  assert.equal(findingsOf('  - { tool: a, line: "{a}", when: "x" }\n').length, 1);
  assert.equal(findingsOf('  - { tool: "a\\\\", line: "{a}" }\n').length, 1);
  const many = '  - { tool: a, line: "{a}" }\n'.repeat(201);
  assert.deepEqual(findingsOf(many), ["renderers: a policy has at most 200 renderers"]);
});

test("[ours.policy.renderers] a baseline policy has no renderers", () => {
  assert.deepEqual(findingsOf('  - { tool: a, line: "{a}" }\n', "floor"), [
    "renderers: renderers belong to the policy of a project",
  ]);
});

test("[ours.policy.renderers] matching many patterns stops after a bounded number of steps", () => {
  const pattern = `${"*a".repeat(200)}*b`;
  const { renderers } = load(`  - { tool: "${pattern}", line: "{a}" }\n`.repeat(200));
  assert.deepEqual(findTemplates(renderers, { tool: "a".repeat(5_000) }), []);
});
