import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { approvalRefusal, type Decider, isEnough } from "./decider.ts";
import {
  acceptsBotApprovals,
  differingParts,
  mergeRequirements,
  requirementOfRule,
} from "./requirement.ts";
import { type Ask, type ConfirmationKind, NO_REQUIREMENT, type Requirement } from "./rule.ts";

function requirement(changes: Partial<Requirement>): Requirement {
  return { ...NO_REQUIREMENT, ...changes };
}

test("[ours.policy.merge] several requirements merge to the strictest of each part", () => {
  const merged = mergeRequirements([
    requirement({ from: [["group:dba"]], quorum: 2, withinMs: 60_000, excludeOwner: true }),
    requirement({ from: [["group:ops", "reviewer:ana"]], confirm: { kind: "passkey" } }),
    requirement({ from: [["group:dba"]], withinMs: 30_000, noteRequired: true, grants: false }),
  ]);
  assert.deepEqual(merged, {
    from: [["group:dba"], ["group:ops", "reviewer:ana"]],
    quorums: [2, 1],
    quorum: 2,
    excludeOwner: true,
    confirm: { kind: "passkey" },
    noteRequired: true,
    withinMs: 30_000,
    grants: false,
    bots: false,
  });
  assert.deepEqual(mergeRequirements([]), NO_REQUIREMENT);
});

test("[ours.policy.merge] a quorum of each set is kept where there are several, and one of them asks for more than one", () => {
  const quorumsOf = (...all: Requirement[]) => mergeRequirements(all).quorums;
  const [dba, ops] = [
    requirement({ from: [["group:dba"]] }),
    requirement({ from: [["group:ops"]] }),
  ];
  assert.equal(quorumsOf({ ...dba, quorum: 2 }), undefined, "the quorum counts the one set");
  assert.equal(quorumsOf(dba, ops), undefined);
  assert.deepEqual(quorumsOf(dba, { ...ops, quorum: 3 }), [1, 3]);
  assert.deepEqual(
    quorumsOf({ ...dba, quorum: 2 }, ops, dba),
    [2, 1],
    "the highest of the same set",
  );
});

test("[ours.policy.merge] sets stay distinct for any names of reviewers", () => {
  const [two, one] = [["reviewer:a", "reviewer:b"], ["reviewer:areviewer:b"]];
  const { from } = mergeRequirements([requirement({ from: [two] }), requirement({ from: [one] })]);
  assert.deepEqual(from, [two, one]);
});

test("[ours.policy.merge] click is weaker than type, type than match, match than passkey", () => {
  const confirms: ConfirmationKind[] = [
    { kind: "click" },
    { kind: "type", text: "a" },
    { kind: "match" },
    { kind: "passkey" },
  ];
  for (const [i, weaker] of confirms.entries()) {
    for (const stronger of confirms.slice(i)) {
      const pair = [requirement({ confirm: weaker }), requirement({ confirm: stronger })];
      assert.deepEqual(mergeRequirements(pair).confirm, stronger);
      assert.equal(mergeRequirements(pair.reverse()).confirm.kind, stronger.kind);
    }
  }
  const texts = ["first", "second"].map((text) => requirement({ confirm: { kind: "type", text } }));
  assert.deepEqual(mergeRequirements(texts).confirm, { kind: "type", text: "first" });
});

const members = ["group:a", "group:b", "reviewer:ana", "reviewer:li"];
const requirements: fc.Arbitrary<Requirement> = fc.record({
  from: fc.array(fc.subarray(members, { minLength: 1 }), { maxLength: 1 }),
  quorum: fc.integer({ min: 1, max: 3 }),
  excludeOwner: fc.boolean(),
  confirm: fc.constantFrom<ConfirmationKind>(
    { kind: "click" },
    { kind: "match" },
    { kind: "passkey" },
  ),
  noteRequired: fc.boolean(),
  withinMs: fc.option(fc.integer({ min: 1, max: 9 })),
  grants: fc.boolean(),
  bots: fc.boolean(),
});
const approvers = fc.array(
  fc
    .record({
      name: fc.constantFrom("ana", "li", "mo"),
      groups: fc.subarray(["a", "b"]),
      isBot: fc.boolean(),
    })
    .map((person) => ({ ...person, id: person.name, forGroups: null })),
);

/** Whether these people are enough, of whom only those count who may approve at all. */
function isMet(one: Requirement, people: readonly Decider[]): boolean {
  const owned = { ownerId: "someone-else", instanceId: "i1" };
  const askable = { ...one, confirm: { kind: "click" } as const };
  return isEnough(
    one,
    people.filter((person) => approvalRefusal(askable, person, owned) === undefined),
  );
}

test("[ours.policy.stricter] approvers that meet the merged requirement meet each of its parts", () => {
  const some = fc.array(requirements, { minLength: 1, maxLength: 4 });
  const property = fc.property(some, approvers, (all, people) => {
    if (!isMet(mergeRequirements(all), people)) return;
    for (const one of all) assert.ok(isMet(one, people));
  });
  fc.assert(property, { numRuns: 2_000 });
});

test("[ours.policy.stricter] members of one rule's group do not count for the group of another rule", () => {
  const merged = mergeRequirements([
    requirement({ from: [["group:dba"]], quorum: 2 }),
    requirement({ from: [["group:interns"]] }),
  ]);
  const person = (id: string, ...groups: string[]) => ({
    id,
    name: id,
    groups,
    isBot: false,
    forGroups: null,
  });
  const [dba, other, intern] = [person("d", "dba"), person("o", "dba"), person("i", "interns")];
  assert.equal(isEnough(merged, [dba, intern]), false);
  assert.equal(isEnough(merged, [dba, other]), false);
  assert.equal(isEnough(merged, [dba, dba, intern]), false);
  assert.equal(isEnough(merged, [dba, other, intern]), true);
});

test("[ours.policy.bots] bots count when every rule that asks says so, and not when none asks", () => {
  const [yes, no] = [requirement({ bots: true }), requirement({})];
  const merged = (...all: Requirement[]) => mergeRequirements(all).bots;
  assert.deepEqual([merged(yes), merged(yes, yes)], [true, true]);
  assert.deepEqual([merged(), merged(no), merged(yes, no), merged(no, yes)].includes(true), false);
});

test("[ours.policy.places] approvals are permitted only where every rule permits them", () => {
  const merged = (...all: Requirement[]) => mergeRequirements(all).channels;
  const one = requirement({ channels: ["api", "console"] });
  const other = requirement({ channels: ["console", "slack_app"] });
  assert.equal(merged(requirement({})), undefined);
  assert.deepEqual(merged(requirement({}), one), ["api", "console"]);
  assert.deepEqual(merged(one, other), ["console"]);
  assert.deepEqual(merged(other, one), ["console"]);
  assert.deepEqual(merged(one, requirement({ channels: ["slack_app"] })), []);
});

test("[ours.policy.bots] where policy met an error or an inexact number, bots do not count", () => {
  const sure = { requirement: requirement({ bots: true }), errors: [], because: "deploys" };
  assert.equal(acceptsBotApprovals(sure), true);
  assert.equal(
    acceptsBotApprovals({ ...sure, errors: [{ rule: "other", message: "failed" }] }),
    false,
  );
  assert.equal(acceptsBotApprovals({ ...sure, because: "inexact" }), false);
  const { bots: _, ...older } = sure.requirement;
  assert.equal(acceptsBotApprovals({ ...sure, requirement: older as Requirement }), false);
});

test("[ours.policy.order] merging does not depend on the order", () => {
  const property = fc.property(fc.array(requirements), (all) => {
    assert.deepEqual(mergeRequirements(all), mergeRequirements([...all].reverse()));
  });
  fc.assert(property);
});

test("[ours.policy.merge] differingParts names exactly the parts that differ, for any order of groups", () => {
  const differ = (one: Partial<Requirement>, other: Partial<Requirement>) =>
    differingParts({ requirement: requirement(one) }, { requirement: requirement(other) });
  assert.deepEqual(differ({}, {}), []);
  assert.deepEqual(differ({ from: [["group:b", "group:a"]] }, { from: [["group:a"]] }), ["from"]);
  const sets = [["group:b", "group:a", "group:b"], ["group:c"]];
  const same = [["group:c"], ["group:a", "group:b"]];
  assert.deepEqual(differ({ from: sets }, { from: same }), []);
  assert.deepEqual(differ({ from: [["a", "b"]] }, { from: [["ab"]] }), ["from"]);
  const counted = { from: sets, quorums: [2, 1] };
  assert.deepEqual(differ(counted, { from: same, quorums: [1, 2] }), []);
  assert.deepEqual(differ(counted, { from: same, quorums: [2, 1] }), ["quorum"]);
  assert.deepEqual(differ(counted, { from: same }), ["quorum"]);
  assert.deepEqual(differ({ from: sets, quorums: [1, 1] }, { from: same }), []);
  assert.deepEqual(differ({ quorum: 2 }, {}), ["quorum"]);
  assert.deepEqual(differ({ excludeOwner: true }, {}), ["exclude"]);
  assert.deepEqual(differ({ noteRequired: true }, {}), ["note"]);
  assert.deepEqual(differ({ withinMs: 1 }, {}), ["within"]);
  assert.deepEqual(differ({ grants: !NO_REQUIREMENT.grants }, {}), ["grants"]);
  assert.deepEqual(differ({ bots: true }, { bots: false }), ["bots"]);
  assert.deepEqual(differ({ channels: ["api"] }, {}), ["channels"]);
  assert.deepEqual(differ({ channels: ["api", "console"] }, { channels: ["console", "api"] }), []);
  // Rows of an earlier version say nothing of bots.
  const { bots: _, ...before } = requirement({});
  const old = { requirement: before as Requirement };
  assert.deepEqual(differingParts(old, { requirement: requirement({ bots: false }) }), []);
  const step = { afterMs: 5, to: "group:d", widens: [0] };
  const [left, right] = [
    { from: [["a"], ["b"]], escalate: [step] },
    { from: [["b"], ["a"]], escalate: [{ ...step, widens: [1] }] },
  ];
  assert.deepEqual(differ(left, right), [], "the same set is widened");
  assert.deepEqual(differ(left, { ...right, escalate: [step] }), ["escalate"]);
  assert.deepEqual(differ(left, { from: left.from }), ["escalate"]);
  assert.deepEqual(differ({ confirm: { kind: "match" } }, {}), ["confirm"]);
  const typed = (text: string): Partial<Requirement> => ({ confirm: { kind: "type", text } });
  assert.deepEqual(differ(typed("a"), typed("b")), ["confirm"]);
  assert.deepEqual(differ(typed("a"), typed("a")), []);
  const bare = { requirement: requirement({}) };
  assert.deepEqual(differingParts({ ...bare, validityMs: 1 }, bare), ["valid_for"]);
});

test("[ours.policy.merge] a rule asks for what it says, and what cannot be typed is matched", () => {
  const ask = {
    from: ["group:dba"],
    quorum: 2,
    excludeOwner: true,
    confirm: { kind: "match" },
    noteRequired: true,
    withinMs: 5,
    grants: false,
    bots: true,
    channels: undefined,
    escalate: [],
  } as const satisfies Ask;
  const { escalate: _steps, channels: _places, ...stated } = ask;
  assert.deepEqual(requirementOfRule(ask, undefined), { ...stated, from: [["group:dba"]] });
  assert.equal(requirementOfRule(undefined, "x"), NO_REQUIREMENT);
  const { from: _, ...others } = ask;
  assert.deepEqual(requirementOfRule({ ...others, from: undefined } as Ask, undefined).from, []);
  for (const kind of ["click", "match", "passkey"] as const) {
    const plain = requirementOfRule({ ...ask, confirm: { kind } }, undefined);
    assert.deepEqual(plain.confirm, { kind }, "nothing is to be typed");
  }
  const typing = { ...ask, confirm: { kind: "type" } } as unknown as Ask;
  assert.deepEqual(requirementOfRule(typing, "prod").confirm, { kind: "type", text: "prod" });
  assert.deepEqual(requirementOfRule(typing, undefined).confirm, { kind: "match" });
});
