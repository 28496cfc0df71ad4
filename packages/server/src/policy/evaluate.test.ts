import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonArray, JsonObject, type JsonValue } from "@countersign/protocol";
import { compileCondition } from "./condition.ts";
import { evaluatePolicies } from "./evaluate.ts";
import { evaluateConditions } from "./evaluate-conditions.ts";
import { type CallText, callOf, policyOf } from "./policy-fixture.ts";
import { type Evaluation, NO_REQUIREMENT } from "./rule.ts";

function evaluate(rules: readonly string[], call: CallText = {}): Evaluation {
  return evaluatePolicies({ project: policyOf(rules) }, callOf(call));
}

function outcome({ verb, because }: Evaluation): string {
  return `${verb} because ${because}`;
}

const APPROVE = "id: yes, match: { tool: pay }, then: approve";
const ASK = "id: people, then: ask";
const DENY = "id: no, then: deny";

test("[ours.policy.no-policy] without any policy, every call asks people", () => {
  const evaluation = evaluatePolicies({}, callOf({}));
  assert.equal(outcome(evaluation), "ask because no-policy");
  assert.deepEqual(evaluation.requirement, NO_REQUIREMENT);
});

test("[ours.policy.precedence] deny is stronger than ask, ask than approve, and no match asks", () => {
  assert.equal(outcome(evaluate([])), "ask because no-match");
  assert.equal(outcome(evaluate([APPROVE])), "approve because yes");
  assert.equal(outcome(evaluate([APPROVE, ASK])), "ask because people");
  assert.equal(outcome(evaluate([APPROVE, ASK, DENY])), "deny because no");
  assert.equal(outcome(evaluate([APPROVE, DENY])), "deny because no");
  assert.equal(outcome(evaluate([APPROVE], { tool: "other" })), "ask because no-match");
  assert.deepEqual(evaluate([APPROVE, ASK, DENY]).fired, ["no", "people", "yes"]);
});

test("the note of an asking rule is kept, also when another rule is first or it failed", () => {
  const quiet = "id: a, then: ask";
  const noted = "id: b, then: ask, note: why";
  const failing = "id: c, then: ask, when: args.missing == 1, note: perhaps";
  assert.equal(evaluate([quiet, noted]).note, "why");
  assert.equal(evaluate([quiet, failing]).note, "perhaps");
  assert.equal(evaluate([failing, noted]).note, "why");
});

test("the first id decides and gives its note; the shortest validity holds", () => {
  const rules = ["b", "a", "c"].map(
    (id, i) => `id: ${id}, match: { tool: pay }, then: approve, note: ${id}!, valid_for: ${i + 1}m`,
  );
  const { because, note, validityMs } = evaluate(rules);
  assert.deepEqual([because, note, validityMs], ["a", "a!", 60_000]);
  const denials = ["z", "y"].map((id) => `id: ${id}, then: deny, note: ${id}!`);
  assert.equal(evaluate([...rules, ...denials]).note, "y!");
});

test("[ours.policy.match] every part of a match must fit, and of a list any one", () => {
  const rule = (match: string) => [`id: it, match: ${match}, then: deny`];
  const denies = (match: string, call: CallText) => evaluate(rule(match), call).verb === "deny";
  assert.ok(denies('{ tool: ["db.*", pay] }', {}));
  assert.ok(denies('{ tool: "p?y" }', {}));
  assert.ok(!denies('{ tool: "db.*" }', {}));
  assert.ok(denies("{ instance: { group: [a, b] } }", { groups: ["b"] }));
  assert.ok(!denies("{ instance: { group: [a, b] } }", { groups: ["c"] }));
  assert.ok(denies('{ instance: { name: "bot-*" } }', {}));
  assert.ok(denies("{ instance: { id: [x, 0190aaaa] } }", {}));
  assert.ok(!denies("{ tool: pay, instance: { id: x } }", {}));
  assert.ok(denies("{ tool: [pay, pay, other] }", {}));
});

test("[ours.policy.error] an error in an ask or deny rule asks and blocks approval", () => {
  for (const verb of ["ask", "deny"]) {
    const rule = `id: careful, when: "args.env == 'prod'", then: ${verb}`;
    const { errors, ...evaluation } = evaluate([APPROVE, rule]);
    assert.equal(outcome({ errors, ...evaluation }), "ask because error");
    assert.deepEqual(errors, [{ rule: "careful", message: "there is no field `env`" }]);
  }
  const other = "id: careful, match: { tool: db }, when: 'args.env == 1', then: deny";
  const untouched = evaluate([APPROVE, other]);
  assert.equal(outcome(untouched), "approve because yes");
  assert.deepEqual(untouched.errors, []);
});

test("[ours.policy.error] an error in an approve rule means that it does not fire", () => {
  const rule = "id: small, match: { tool: pay }, when: args.amount < 5, then: approve";
  assert.equal(outcome(evaluate([rule])), "ask because error");
  assert.equal(evaluate([rule]).errors.length, 1);
  assert.equal(outcome(evaluate([rule, APPROVE])), "approve because yes");
  assert.equal(outcome(evaluate([rule, ASK])), "ask because people");
  assert.equal(outcome(evaluate([rule], { args: '{"amount":"4"}' })), "ask because error");
  assert.equal(outcome(evaluate([rule], { args: '{"amount":9}' })), "ask because no-match");
});

test("[ours.policy.error-people] an ask rule that cannot be judged asks for its own people", () => {
  const rule =
    "id: prod, when: \"args.env == 'prod'\", then: ask, " +
    "ask: { from: [group:dba], quorum: 2, confirm: passkey, within: 5m, grants: false }";
  const { because, fired, requirement } = evaluate([rule, ASK]);
  assert.equal(because, "people");
  assert.deepEqual(fired, ["people"]);
  assert.deepEqual(requirement, {
    ...NO_REQUIREMENT,
    from: [["group:dba"]],
    quorum: 2,
    confirm: { kind: "passkey" },
    withinMs: 300_000,
    grants: false,
  });
});

test("a condition that gives no bool is an error", () => {
  const rule = "id: odd, match: { tool: pay }, when: args.x, then: approve";
  assert.equal(outcome(evaluate([rule], { args: '{"x":true}' })), "approve because odd");
  for (const x of ["1", '"true"', "null", "[]", "{}", "1.5"]) {
    assert.equal(outcome(evaluate([rule], { args: `{"x":${x}}` })), "ask because error", x);
  }
});

test("[ours.policy.exact-numbers] a rule without a condition applies to calls with numbers of any size", () => {
  for (const number of ["1e400", "12345678901234567890", "0.10000000000000000555"]) {
    const call = { args: `{"amount":${number}}`, context: `{"n":${number}}` };
    assert.equal(outcome(evaluate([APPROVE], call)), "approve because yes", number);
    assert.equal(outcome(evaluate([APPROVE, ASK], call)), "ask because people", number);
    assert.equal(outcome(evaluate([APPROVE, DENY], call)), "deny because no", number);
    assert.equal(outcome(evaluate([], call)), "ask because no-match", number);
  }
});

test("[ours.policy.exact-numbers] a condition compares numbers of any size", () => {
  const big = "id: big, when: args.amount > 5, then: deny";
  for (const number of ["1e400", "12345678901234567890", "5.00000000000000010000000000001e2"]) {
    const call = { args: `{"amount":${number}}` };
    assert.equal(outcome(evaluate([APPROVE, big], call)), "deny because big", number);
  }
  const small = "id: small, when: args.amount < 5, then: approve";
  const tenth = { args: '{"amount":0.10000000000000000555}' };
  assert.equal(outcome(evaluate([small], tenth)), "approve because small");
});

test("[ours.policy.inexact] where rounding to a double changes the answer, people are asked", () => {
  const near = { args: '{"amount":4999.99999999999999999}' };
  const small = "id: small, match: { tool: pay }, when: args.amount < 5000, then: approve";
  const large = "id: large, when: args.amount >= 5000, then: deny";
  assert.equal(outcome(evaluate([small], near)), "ask because inexact");
  assert.equal(outcome(evaluate([APPROVE, large], near)), "ask because inexact");
  assert.equal(outcome(evaluate([APPROVE, small], near)), "approve because yes");
});

test("[ours.policy.inexact] a condition that calculates with a long number is uncertain", () => {
  const sum = "id: sum, when: args.amount + 1 > 5, then: deny";
  const call = { args: '{"amount":12345678901234567890}' };
  assert.equal(outcome(evaluate([APPROVE, sum], call)), "ask because inexact");
});

test("[ours.policy.merge] several ask rules ask for the strictest of all", () => {
  const rules = [
    "id: b, then: ask, valid_for: 5m, note: B, " +
      "ask: { from: [group:dba], confirm: type(args.repo) }",
    "id: a, then: ask, valid_for: 9m, note: A, ask: { quorum: 2, confirm: 'type(\"other\")' }",
    APPROVE,
  ];
  const { because, note, validityMs, requirement } = evaluate(rules, { args: '{"repo":"main"}' });
  assert.deepEqual([because, note, validityMs], ["a", "A", 300_000]);
  assert.deepEqual(requirement.confirm, { kind: "type", text: "other" });
  assert.deepEqual([requirement.from, requirement.quorum], [[["group:dba"]], 2]);
});

test("a text that cannot be typed is confirmed by matching, and recorded", () => {
  const rule = "id: it, then: ask, ask: { confirm: type(args.repo) }";
  const cases = ["{}", '{"repo":""}', '{"repo":5}', '{"repo":"a\\nb"}', '{"repo":"  "}'];
  for (const args of [...cases, `{"repo":"${"x".repeat(201)}"}`]) {
    const { because, requirement, errors } = evaluate([rule], { args });
    assert.equal(because, "it");
    assert.deepEqual(requirement.confirm, { kind: "match" }, args);
    assert.deepEqual(
      errors.map((each) => each.rule),
      ["it"],
    );
  }
  const long = evaluate([rule], { args: `{"repo":"${"x".repeat(200)}"}` });
  assert.equal(long.requirement.confirm.kind, "type");
});

test("[ours.policy.floor] a rule of the baseline policy is named `floor/ID`, also when its policy serves a project too", () => {
  const policy = policyOf([DENY], "floor");
  assert.equal(evaluatePolicies({ project: policy }, callOf({})).because, "no");
  assert.equal(evaluatePolicies({ floor: policy }, callOf({})).because, "floor/no");
});

test("[ours.policy.floor] a project cannot weaken the denials and questions of its baseline policy", () => {
  const floor = policyOf(
    [
      "id: never, match: { tool: drop }, then: deny, note: Never.",
      "id: two, match: { tool: pay }, then: ask, ask: { quorum: 2 }",
    ],
    "floor",
  );
  const project = policyOf([
    'id: all, match: { tool: "*" }, then: approve',
    "id: two, match: { tool: pay }, then: ask, ask: { confirm: match }",
  ]);
  const drop = evaluatePolicies({ floor, project }, callOf({ tool: "drop" }));
  assert.equal(outcome(drop), "deny because floor/never");
  assert.equal(drop.note, "Never.");
  const pay = evaluatePolicies({ floor, project }, callOf({}));
  assert.deepEqual(pay.fired, ["all", "floor/two", "two"]);
  assert.equal(pay.requirement.quorum, 2);
  assert.deepEqual(pay.requirement.confirm, { kind: "match" });
  assert.equal(outcome(evaluatePolicies({ floor }, callOf({ tool: "x" }))), "ask because no-match");
});

test("[ours.policy.no-values] an error says nothing of the call", () => {
  const secret = "s3cr3t-value";
  const args = `{"a":"${secret}","${secret}":1,"m":{"x":1},"n":987654321987654321,"l":[1]}`;
  const conditions = [
    "args.a < 5",
    "args.m[args.a] == 1",
    "args.l[args.n] == 1",
    "args.a ? true : false",
    "int(args.a) == 1",
    "timestamp(args.a) < now",
    "duration(args.a) > duration('1s')",
    "args.n * args.n > 1",
    "args.a.x == 1",
    "args.missing",
    "args.m.exists(k, args.m[k])",
    "{args.l: 1} == {}",
    "args.a",
    "double(args.a) > 0.0",
  ];
  for (const when of conditions) {
    const [error] = evaluate([`id: it, when: "${when}", then: deny`], { args }).errors;
    assert.ok(error !== undefined, when);
    assert.doesNotMatch(error.message, /s3cr3t|9876/, when);
  }
});

test("errors are bounded in number and length", () => {
  const rules = Array.from({ length: 50 }, (_, i) => {
    return `id: r${i}, when: "args.${"x".repeat(400)} == 1", then: deny`;
  });
  const { errors } = evaluate(rules);
  assert.equal(errors.length, 20);
  for (const { message } of errors) assert.ok(message.length <= 300);
});

const LIST = `[${Array.from({ length: 20_000 }, (_, i) => i).join(",")}]`;
const MONEY = 'id: money, match: { tool: "pay*" }, then: ask, ask: { from: group:dba, quorum: 2 }';
const HOSTILE: readonly [string, string][] = [
  ["args.l.all(x, args.l == args.l)", `{"l":${LIST}}`],
  ["args.l.all(x, !(0 - 1 in args.l))", `{"l":${LIST}}`],
  ["args.l.map(x, args.l + args.l + args.l).size() > 0", `{"l":${LIST}}`],
  ["args.l.all(x, !args.s.contains(args.t))", `{"l":${LIST},"s":"${"a".repeat(100_000)}","t":"b"}`],
  ["args.l.all(x, !glob(args.s, '*?a?b*?a?c*'))", `{"l":${LIST},"s":"${"ab".repeat(50_000)}"}`],
  ["args.l.map(x, args.s + args.s).size() > 0", `{"l":${LIST},"s":"${"a".repeat(100_000)}"}`],
  ["args.l.all(x, size(args.s) > 0)", `{"l":${LIST},"s":"${"😀".repeat(50_000)}"}`],
  [
    "args.l.all(x, args.s.upperAscii() != args.t)",
    `{"l":${LIST},"s":"${"a".repeat(100_000)}","t":""}`,
  ],
  ["args.l.all(x, hour(now, 'Europe/Berlin') > 24 || true)", `{"l":${LIST}}`],
];

test("[ours.policy.bounded] a condition that takes too long asks, and blocks approval", () => {
  for (const [when, args] of HOSTILE) {
    const rule = `id: slow, when: "${when}", then: deny`;
    const { errors, ...evaluation } = evaluate([APPROVE, rule], { args });
    assert.equal(outcome({ errors, ...evaluation }), "ask because error", when);
    assert.match(errors[0]?.message ?? "", /too many steps|longer than 50 ms/, when);
  }
});

test("[ours.policy.bounded] many slow rules together end at the limit, and what fired stays", () => {
  const [when = "", args = ""] = HOSTILE[0] ?? [];
  const slow = Array.from({ length: 400 }, (_, i) => `id: slow${i}, when: "${when}", then: deny`);
  const denied = evaluate(["id: at-once, then: deny", ...slow], { args });
  assert.equal(outcome(denied), "deny because at-once");
  const asked = evaluate([...slow, APPROVE], { args });
  assert.equal(outcome(asked), "ask because error");
});

test("[ours.policy.bounded] arguments that are deep, wide or long never throw", () => {
  let deep: JsonValue = null;
  for (let depth = 0; depth < 100_000; depth++) deep = new JsonArray([deep], "[]");
  const args = new JsonObject(new Map([["deep", deep]]), "{}");
  const rules = [APPROVE, "id: eq, when: args.deep == args.deep, then: deny"];
  const { verb } = evaluatePolicies({ project: policyOf(rules) }, { ...callOf({}), args });
  assert.equal(verb, "ask");
  const wide = `{${Array.from({ length: 50_000 }, (_, i) => `"k${i}":${i}`).join(",")}}`;
  assert.equal(outcome(evaluate([APPROVE], { args: wide })), "approve because yes");
  assert.equal(evaluate([APPROVE], { tool: "x".repeat(1_000_000) }).verb, "ask");
});

test("[ours.policy.error] [ours.policy.error-people] an unexpected error asks, with the strictest requirement", () => {
  const project = policyOf([APPROVE]);
  const floor = policyOf([MONEY], "floor");
  const broken = { ...callOf({}), now: Number.NaN };
  const { verb, because, errors, requirement } = evaluatePolicies({ project, floor }, broken);
  assert.deepEqual([verb, because, errors.length], ["ask", "error", 1]);
  assert.deepEqual([requirement.from, requirement.quorum], [[["group:dba"]], 2]);
});

test("[ours.policy.error-people] a tool name that takes too long to match asks the reviewers of every rule", () => {
  const rules = Array.from({ length: 1_000 }, (_, i) => {
    return `id: r${i}, match: { tool: "*a${i}*b?c${i}*" }, then: deny`;
  });
  const floor = policyOf([MONEY], "floor");
  const call = callOf({ tool: `pay${"a".repeat(1_000_000)}` });
  const { because, requirement } = evaluatePolicies({ floor, project: policyOf(rules) }, call);
  assert.equal(because, "error");
  assert.deepEqual([requirement.from, requirement.quorum], [[["group:dba"]], 2]);
});

test("a condition by itself holds only when it is exactly true", () => {
  const holds = (when: string, args: string) =>
    evaluateConditions(
      [{ condition: compileCondition(when, { kind: "grant" }), tool: "pay" }],
      callOf({ args }),
    )[0];
  assert.deepEqual(holds("args.n < 5", '{"n":4}'), { holds: true, error: undefined });
  assert.deepEqual(holds("args.n < 5", '{"n":5}'), { holds: false, error: undefined });
  for (const args of ["{}", '{"n":"4"}', '{"n":4.99999999999999999999}']) {
    const { holds: does, error } = holds("args.n < 5", args) ?? {};
    assert.ok(!does && error !== undefined, args);
  }
  const [when = "", args = ""] = HOSTILE[0] ?? [];
  assert.equal(holds(when, args)?.holds, false);
});

test("[ours.policy.stricter] of two texts to type, the one of the baseline policy is required", () => {
  const floor = policyOf(["id: z, then: ask, ask: { confirm: type(args.repo) }"], "floor");
  const project = policyOf(['id: a, then: ask, ask: { confirm: "type(\\"y\\")" }']);
  const { requirement } = evaluatePolicies({ floor, project }, callOf({ args: '{"repo":"r1"}' }));
  assert.deepEqual(requirement.confirm, { kind: "type", text: "r1" });
});

test("[ours.policy.stricter] a quorum of one rule's people is not filled by another rule's", () => {
  const floor = policyOf(["id: money, then: ask, ask: { from: group:dba, quorum: 2 }"], "floor");
  const project = policyOf(["id: ours, then: ask, ask: { from: group:interns }"]);
  const { requirement } = evaluatePolicies({ floor, project }, callOf({}));
  assert.deepEqual(requirement.from, [["group:dba"], ["group:interns"]]);
  assert.deepEqual([requirement.quorum, requirement.quorums], [2, [2, 1]]);
});
