/** Merging and applying the steps of escalations. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  approvalRefusal,
  collectsVotes,
  type Decider,
  denialRefusal,
  isEnough,
} from "./decider.ts";
import { widenRequirement } from "./escalation.ts";
import { evaluatePolicies } from "./evaluate.ts";
import {
  type Judgement,
  nextEscalationAt,
  requirementOf,
  scheduleEscalations,
} from "./judgement.ts";
import { callOf, policyOf } from "./policy-fixture.ts";
import { mergeRequirements } from "./requirement.ts";
import { type Escalation, NO_REQUIREMENT, type Requirement } from "./rule.ts";

const MIN = 60_000;
const OWNED = { ownerId: "owner", instanceId: "i1" };

function requirement(changes: Partial<Requirement>): Requirement {
  return { ...NO_REQUIREMENT, ...changes };
}

/** A rule's requirement with one set. */
function rule(from: string, escalate: readonly [number, string][] = []): Requirement {
  const steps = escalate.map(([afterMs, to]) => ({ afterMs, to, widens: [0] }));
  return requirement({ from: [[from]], escalate: steps });
}

function person(id: string, ...groups: string[]): Decider {
  return { id, name: id, groups, isBot: false, forGroups: null };
}

/** After all steps that are due by then. */
function at(afterMs: number, one: Requirement): Requirement {
  const due = (one.escalate ?? []).filter((step) => step.afterMs <= afterMs);
  return widenRequirement(
    one,
    due.map(({ to }) => [to]),
  );
}

test("[ours.escalate.widens] a step adds its group to the set of its rule, and to nothing else", () => {
  const merged = mergeRequirements([
    rule("group:dev", [
      [15 * MIN, "group:directors"],
      [5 * MIN, "group:leads"],
    ]),
    rule("group:security"),
  ]);
  assert.deepEqual(merged.escalate, [
    { afterMs: 5 * MIN, to: "group:leads", widens: [0] },
    { afterMs: 15 * MIN, to: "group:directors", widens: [0] },
  ]);
  const fromAt = (afterMs: number) => at(afterMs, merged).from;
  assert.deepEqual(fromAt(5 * MIN - 1), [["group:dev"], ["group:security"]]);
  assert.deepEqual(fromAt(5 * MIN), [["group:dev", "group:leads"], ["group:security"]]);
  assert.deepEqual(fromAt(15 * MIN), [
    ["group:dev", "group:leads", "group:directors"],
    ["group:security"],
  ]);
  assert.deepEqual({ ...at(15 * MIN, merged), from: merged.from }, merged);
});

test("[ours.escalate.strict] a set that another rule requires too is widened only by steps of both, at the later time", () => {
  const [soon, late] = [
    rule("group:dev", [[5, "group:leads"]]),
    rule("group:dev", [[9, "group:leads"]]),
  ];
  assert.equal(mergeRequirements([soon, rule("group:dev")]).escalate, undefined);
  assert.deepEqual(mergeRequirements([soon, late]).escalate, [
    { afterMs: 9, to: "group:leads", widens: [0] },
  ]);
  const other = rule("group:dev", [[5, "group:directors"]]);
  assert.equal(mergeRequirements([soon, other]).escalate, undefined);
});

test("[ours.escalate.strict] a step does not add a group that may decide already", () => {
  assert.equal(mergeRequirements([rule("group:leads", [[5, "group:leads"]])]).escalate, undefined);
});

test("[ours.escalate.any] a step of a rule without `from` announces, and never restricts who decides", () => {
  const any = (afterMs: number) =>
    requirement({ escalate: [{ afterMs, to: "group:leads", widens: [] }] });
  const merged = mergeRequirements([any(9), any(5), NO_REQUIREMENT]);
  assert.deepEqual(merged.escalate, [{ afterMs: 5, to: "group:leads", widens: [] }]);
  assert.deepEqual(at(5, merged).from, []);
  const restricted = mergeRequirements([any(5), rule("group:dev")]);
  assert.equal(restricted.escalate, undefined, "the group of the other rule decides");
});

test("[ours.escalate.votes] votes of the added group count for the quorum and its set, and one of them denies", () => {
  const one = requirement({
    from: [["reviewer:ana"], ["group:security"]],
    quorum: 2,
    excludeOwner: true,
    escalate: [{ afterMs: 5, to: "group:leads", widens: [0] }],
  });
  const [ana, lea, sam] = [person("ana"), person("lea", "leads"), person("sam", "security")];
  const owner = person("owner", "leads");
  assert.notEqual(approvalRefusal(at(4, one), lea, OWNED), undefined);
  assert.notEqual(denialRefusal(at(4, one), lea, OWNED), undefined);
  const wide = at(5, one);
  assert.equal(approvalRefusal(wide, lea, OWNED), undefined);
  assert.equal(denialRefusal(wide, lea, OWNED), undefined);
  assert.notEqual(approvalRefusal(wide, owner, OWNED), undefined, "the owner stays excluded");
  assert.equal(isEnough(wide, [lea]), false);
  assert.equal(isEnough(wide, [ana, lea]), false, "no member of the other set");
  assert.equal(isEnough(wide, [lea, sam]), true);
  assert.equal(isEnough(wide, [ana, sam]), true);
  assert.equal(collectsVotes(wide), true);
});

const GROUPS = ["group:a", "group:b", "group:c"];
const steps: fc.Arbitrary<Escalation> = fc.record({
  afterMs: fc.integer({ min: 1, max: 4 }),
  to: fc.constantFrom(...GROUPS),
  widens: fc.constant([0]),
});
const rules: fc.Arbitrary<Requirement> = fc
  .record({
    from: fc.subarray(GROUPS, { minLength: 1 }),
    quorum: fc.integer({ min: 1, max: 3 }),
    escalate: fc.uniqueArray(steps, { maxLength: 3, selector: ({ to }) => to }),
  })
  .map(({ from, quorum, escalate }) => {
    const sorted = [...escalate].sort((a, b) => a.afterMs - b.afterMs);
    return requirement({ from: [from], quorum, escalate: sorted });
  });
const people = fc.array(
  fc
    .record({ name: fc.constantFrom("ana", "li", "mo"), groups: fc.subarray(["a", "b", "c"]) })
    .map(({ name, groups }) => person(name, ...groups)),
);

function isMet(one: Requirement, some: readonly Decider[]): boolean {
  return isEnough(
    one,
    some.filter((each) => approvalRefusal(one, each, OWNED) === undefined),
  );
}

test("[ours.escalate.strict] at every time, approvers that meet the merged requirement meet each of its parts", () => {
  const all = fc.array(rules, { minLength: 1, maxLength: 3 });
  const times = fc.integer({ min: 0, max: 5 });
  const property = fc.property(all, people, times, (each, some, afterMs) => {
    if (!isMet(at(afterMs, mergeRequirements(each)), some)) return;
    for (const one of each) assert.ok(isMet(at(afterMs, one), some));
  });
  fc.assert(property, { numRuns: 3_000 });
});

test("[ours.escalate.widens] a step never makes approvers insufficient", () => {
  const property = fc.property(fc.array(rules), people, (each, some) => {
    const merged = mergeRequirements(each);
    if (!isMet(merged, some)) return;
    for (const afterMs of [1, 2, 3, 4]) assert.ok(isMet(at(afterMs, merged), some));
  });
  fc.assert(property, { numRuns: 2_000 });
});

test("[ours.policy.order] merging steps does not depend on the order", () => {
  const property = fc.property(fc.array(rules), (each) => {
    assert.deepEqual(mergeRequirements(each), mergeRequirements([...each].reverse()));
  });
  fc.assert(property);
});

test("[ours.escalate.floor] no step of a project widens the groups of the baseline policy, and the reverse", () => {
  const project = policyOf([
    "id: p, then: ask, ask: { from: group:dev, escalate: [{ after: 5m, to: group:leads }] }",
  ]);
  const evaluate = (floorAsk: string) => {
    const floor = policyOf([`id: f, then: ask, ask: { ${floorAsk} }`], "floor");
    return evaluatePolicies({ project, floor }, callOf({})).requirement;
  };
  const other = evaluate("from: group:security");
  assert.deepEqual(at(5 * MIN, other).from, [["group:dev", "group:leads"], ["group:security"]]);
  assert.equal(evaluate("from: group:dev").escalate, undefined, "the baseline has the same group");
  const own = evaluate("from: group:security, escalate: [{ after: 9m, to: group:ciso }]");
  assert.deepEqual(at(9 * MIN, own).from, [
    ["group:dev", "group:leads"],
    ["group:security", "group:ciso"],
  ]);
});

test("[ours.escalate.deadline] steps at or after the deadline are not scheduled", () => {
  const judgement: Judgement = {
    verb: "ask",
    because: "p",
    fired: ["p"],
    errors: [],
    project: null,
    floor: null,
    requirement: rule("group:dev", [
      [5, "group:leads"],
      [10, "group:directors"],
    ]),
  };
  const window = (deadlineAt: number) => ({ createdAt: 100, deadlineAt });
  const times = (deadlineAt: number) =>
    scheduleEscalations(judgement, window(deadlineAt)).map(({ dueAt }) => dueAt);
  assert.deepEqual(times(111), [105, 110]);
  assert.deepEqual(times(110), [105]);
  assert.deepEqual(times(105), []);
  assert.equal(nextEscalationAt(judgement, window(105)), null);
  assert.equal(nextEscalationAt(judgement, window(106)), 105);
  const applied = { ...judgement, escalatedAt: [107] };
  assert.equal(nextEscalationAt(applied, window(111)), 110);
  assert.deepEqual(requirementOf(applied).from, [["group:dev", "group:leads"]]);
  assert.equal(nextEscalationAt({ ...judgement, escalatedAt: [107, 111] }, window(200)), null);
});
