import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { evaluatePolicies } from "../policy/evaluate.ts";
import { examinePolicy } from "../policy/examine.ts";
import { loadPolicy } from "../policy/load.ts";
import { compareRules } from "../policy/rule-changes.ts";
import type { ExaminationOrder } from "./examiner.ts";
import { EXAMINATION_MS_MAX, ExaminerThread } from "./examiner-thread.ts";

const SOURCE = `version: 1
rules:
  - id: small
    match: { tool: ["pay", "pay.*"], instance: { group: bots } }
    when: type(args.n) == int && args.n in [1, 2] && args.x == 0.5 && args.s != null
    then: approve
    valid_for: 2m
  - id: large
    when: args.n > 9223372036854775806 || args.list.exists(l, l == "a")
    then: ask
    ask: { from: [group:dba], quorum: 2, confirm: type(args.repo + "!"), within: 5m }
tests:
  - { given: { tool: pay, args: {} }, expect: { then: deny } }
`;

const ITEMS = "1,".repeat(1_200);

/** It takes seconds wherever it is read. */
const SLOW = `version: 1
rules:
  - { id: a, when: "args.l.all(x, args.l == args.l)", then: deny }
tests:
${`  - { given: { tool: a, args: { l: [${ITEMS}1] } }, expect: { then: ask } }\n`.repeat(90)}`;

function order(source: string, options: Partial<ExaminationOrder> = {}): ExaminationOrder {
  return { kind: "project", source, runsTests: true, wantsPolicy: true, ...options };
}

function start(t: TestContext, clock = new ManualClock()): ExaminerThread {
  const examiner = new ExaminerThread(clock);
  t.after(() => examiner.close());
  return examiner;
}

test("[ours.policy.examined] the thread returns the same result as an examination in this process", async (t) => {
  const examiner = start(t);
  const here = examinePolicy({ kind: "project" }, SOURCE);
  const there = await examiner.examine(order(SOURCE));
  assert.deepEqual([there.findings, there.tests], [here.findings, here.tests]);
  assert.equal(there.findings.length, 1);
  assert.deepEqual([there.rules, there.isStopped], [2, false]);
  const [read, known] = [there.policy, here.policy];
  assert.ok(read !== undefined && known !== undefined);
  assert.deepEqual([read.sha256, read.source], [known.sha256, SOURCE]);
  const none = { added: [], changed: [], removed: [] };
  assert.deepEqual(compareRules(known.rules, read.rules), none);
  const calls = ['{"n":1,"x":0.5,"s":""}', '{"n":9223372036854775807,"repo":"r"}', "{}"];
  const lines = calls.map(
    (args) => `  - { given: { tool: pay.it, instance: { group: bots },
      args: ${args} }, expect: { then: ask } }`,
  );
  const loaded = loadPolicy(`version: 1\nrules: []\ntests:\n${lines.join("\n")}\n`, {
    kind: "project",
  });
  const verbs = loaded.tests.map(({ given }) => {
    const said = evaluatePolicies({ project: read }, given);
    assert.deepEqual(said, evaluatePolicies({ project: known }, given));
    return [said.verb, said.requirement.confirm.kind];
  });
  assert.deepEqual(verbs, [
    ["ask", "match"],
    ["ask", "type"],
    ["ask", "match"],
  ]);
});

test("[ours.policy.examined] every fault is reported, also a group without members", async (t) => {
  const examiner = start(t);
  const groups = { reviewers: new Set<string>(), reviewerNames: new Set<string>() };
  const known = { ...groups, instances: new Set(["bots"]), schedules: new Set(["payments"]) };
  const { findings, policy } = await examiner.examine(order(SOURCE, { groups: known }));
  assert.deepEqual([findings[0]?.message, policy], ["unknown group `dba`", undefined]);
  const faulty = await examiner.examine(order("rules: 1"));
  assert.equal(faulty.findings.length, 2);
});

test("[ours.policy.examined.bounded] a policy that takes too long is rejected, and the next one is examined", async (t) => {
  const clock = new ManualClock();
  const examiner = start(t, clock);
  const slow = examiner.examine(order(SLOW));
  const next = examiner.examine(order(SOURCE));
  clock.advance(EXAMINATION_MS_MAX);
  const { findings, isStopped, policy } = await slow;
  assert.deepEqual([isStopped, policy], [true, undefined]);
  assert.equal(findings[0]?.message, "the policy takes longer than 10 s to examine");
  assert.equal((await next).rules, 2);
});

test("[ours.policy.examined.bounded] a policy that takes too much memory is rejected, and the next one is examined", async (t) => {
  const examiner = start(t);
  const hungry = examiner.examine(order("[".repeat(250_000)));
  const next = examiner.examine(order(SOURCE));
  const { findings, isStopped } = await hungry;
  assert.equal(isStopped, true);
  assert.equal(findings[0]?.message, "the policy needs more than 128 MiB of memory to examine");
  assert.equal((await next).rules, 2);
});

test("the thread starts with the first policy, and ends when there is none", async (t) => {
  const clock = new ManualClock();
  const examiner = start(t, clock);
  assert.equal(examiner.isRunning, false);
  await examiner.examine(order(SOURCE));
  assert.equal(examiner.isRunning, true);
  clock.advance(29_000);
  assert.equal((await examiner.examine(order(SOURCE))).rules, 2);
  clock.advance(29_000);
  assert.equal(examiner.isRunning, true);
  clock.advance(1_000);
  assert.equal(examiner.isRunning, false);
  assert.equal((await examiner.examine(order(SOURCE))).rules, 2);
});

test("a closed examiner rejects waiting and new examinations", async () => {
  const examiner = new ExaminerThread(new ManualClock());
  const slow = examiner.examine(order(SLOW));
  const behind = examiner.examine(order(SOURCE));
  const outcomes = Promise.allSettled([slow, behind]);
  await examiner.close();
  const after = examiner.examine(order(SOURCE));
  for (const { status } of [...(await outcomes), ...(await Promise.allSettled([after]))]) {
    assert.equal(status, "rejected");
  }
  await assert.rejects(after, /the server is stopping/);
});
