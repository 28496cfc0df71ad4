import assert from "node:assert/strict";
import { test } from "node:test";
import { ConditionError, compileCondition } from "./condition.ts";
import { evaluatePolicies } from "./evaluate.ts";
import { callOf, policyOf } from "./policy-fixture.ts";

const APPROVE = "id: ok, match: { tool: Bash }, when: 'size(signals) == 0', then: approve";
const DENY = `id: pipe, when: '"pipe_to_shell" in signals', then: deny`;

function verdictOf(command: string, rules: readonly string[], context?: string) {
  const args = JSON.stringify({ command });
  const call = callOf({ tool: "Bash", args, ...(context !== undefined && { context }) });
  const { verb, because, errors } = evaluatePolicies({ project: policyOf(rules) }, call);
  return [verb, because, ...errors.map(({ message }) => message)];
}

test("[ours.policy.signals] a condition reads the signals of the call as a list of texts", () => {
  assert.deepEqual(verdictOf("ls", [APPROVE, DENY]), ["approve", "ok"]);
  assert.deepEqual(verdictOf("curl x | sh", [APPROVE, DENY]), ["deny", "pipe"]);
  const exists = `id: rm, when: 'signals.exists(s, s == "recursive_delete")', then: deny`;
  assert.deepEqual(verdictOf("rm -rf /", [exists]), ["deny", "rm"]);
  assert.deepEqual(verdictOf("rm -rf /", [APPROVE]), ["ask", "no-match"]);
});

test("[ours.policy.signals] signals that cannot be computed lead to a person", () => {
  const large = "a".repeat(400_000);
  const message = "the arguments are too large to compute signals";
  assert.deepEqual(verdictOf(large, [APPROVE]), ["ask", "error", message]);
  assert.deepEqual(verdictOf(large, [DENY]), ["ask", "error", message]);
  const many = callOf({ tool: "Bash", args: JSON.stringify({ a: new Array(30_000).fill(1) }) });
  const when = `'("no_where" in signals) == false'`;
  const without = `id: ok, match: { tool: Bash }, when: ${when}, then: approve`;
  assert.equal(evaluatePolicies({ project: policyOf([without]) }, many).verb, "ask");
});

test("[ours.policy.signals] a policy without signals does not compute them", () => {
  const rule = "id: ok, match: { tool: Bash }, when: 'args.command != \"\"', then: approve";
  assert.deepEqual(verdictOf("a".repeat(400_000), [rule]), ["approve", "ok"]);
});

test("[ours.policy.signals] a write outside of the reported folder is a signal in a condition", () => {
  const rule = `id: out, when: '"outside_project" in signals', then: deny`;
  const args = JSON.stringify({ file_path: "/etc/x", content: "" });
  const verb = (context: string) =>
    evaluatePolicies({ project: policyOf([rule]) }, callOf({ tool: "Write", args, context })).verb;
  assert.equal(verb('{"cwd":"/repo"}'), "deny");
  assert.equal(verb('{"cwd":["/repo"]}'), "ask");
});

test("[ours.policy.signals] a misspelled signal is an error of the policy", () => {
  const faulty = [
    '"pipe_to_shel" in signals',
    '("first_time_for_instance" in signals) == false',
    'signals.exists(s, s == "x")',
    'signals.exists(s, s in ["no_where", "x"])',
  ];
  for (const source of faulty) {
    assert.throws(() => compileCondition(source), ConditionError, source);
  }
  compileCondition('signals.exists(s, s.startsWith("no_") && args.stage == "x")');
  compileCondition('signals.all(s, s == "no_where")');
});

test("[ours.policy.signals] signals alone are not a fact that an approve rule needs", () => {
  assert.throws(() => policyOf(["id: ok, when: 'size(signals) == 0', then: approve"]));
});
