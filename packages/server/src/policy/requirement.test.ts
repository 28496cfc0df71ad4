import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Approver, isMet, mergeRequirements, permits, refusal } from "./requirement.ts";
import { type Confirm, NO_REQUIREMENT, type Requirement } from "./rule.ts";

function requirement(changes: Partial<Requirement>): Requirement {
  return { ...NO_REQUIREMENT, ...changes };
}

function approver(name: string, groups: string[] = [], isOwner?: boolean): Approver {
  return { name, groups, isOwner };
}

test("[ours.policy.merge] several requirements merge to the strictest of each part", () => {
  const merged = mergeRequirements([
    requirement({ from: [["group:dba"]], quorum: 2, withinMs: 60_000, excludeOwner: true }),
    requirement({ from: [["group:ops", "reviewer:ana"]], confirm: { kind: "passkey" } }),
    requirement({ from: [["group:dba"]], withinMs: 30_000, noteRequired: true, grants: false }),
  ]);
  assert.deepEqual(merged, {
    from: [["group:dba"], ["group:ops", "reviewer:ana"]],
    quorum: 2,
    excludeOwner: true,
    confirm: { kind: "passkey" },
    noteRequired: true,
    withinMs: 30_000,
    grants: false,
  });
  assert.deepEqual(mergeRequirements([]), NO_REQUIREMENT);
});

test("[ours.policy.merge] click is weaker than type, type than match, match than passkey", () => {
  const confirms: Confirm[] = [
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

test("[ours.policy.quorum] the quorum counts distinct people who are asked", () => {
  const two = requirement({ from: [["group:dba", "reviewer:eve"]], quorum: 2 });
  const [ana, li] = [approver("ana", ["dba"]), approver("li", ["dba"])];
  assert.ok(!isMet(two, []));
  assert.ok(!isMet(two, [ana]));
  assert.ok(!isMet(two, [ana, ana]));
  assert.ok(!isMet(two, [ana, approver("mo", ["ops"])]));
  assert.ok(isMet(two, [ana, li]));
  assert.ok(isMet(two, [ana, approver("eve")]));
  assert.ok(!isMet(requirement({ quorum: 0 }), []));
});

test("[ours.policy.quorum] somebody of every set has approved, and one person may be of several", () => {
  const sets = requirement({ from: [["group:dba"], ["group:ops"]] });
  assert.ok(!isMet(sets, [approver("ana", ["dba"])]));
  assert.ok(isMet(sets, [approver("ana", ["dba"]), approver("mo", ["ops"])]));
  assert.ok(isMet(sets, [approver("ana", ["dba", "ops"])]));
  assert.ok(!isMet({ ...sets, quorum: 2 }, [approver("ana", ["dba", "ops"])]));
});

test("a reviewer is not taken for a group of the same name", () => {
  const group = requirement({ from: [["group:ana"]] });
  assert.equal(refusal(group, approver("ana")), "not-asked");
  assert.equal(
    refusal(requirement({ from: [["reviewer:dba"]] }), approver("x", ["dba"])),
    "not-asked",
  );
  assert.ok(permits(NO_REQUIREMENT, approver("anybody")));
});

test("[ours.policy.owner] an excluded owner does not decide, nor who may be the owner", () => {
  const excluded = requirement({ excludeOwner: true });
  assert.equal(refusal(excluded, approver("ana", [], true)), "owner");
  assert.equal(refusal(excluded, approver("ana")), "owner-unknown");
  assert.equal(refusal(excluded, approver("ana", [], false)), undefined);
  assert.ok(!isMet(excluded, [approver("ana", [], true)]));
  assert.ok(permits(NO_REQUIREMENT, approver("ana", [], true)));
});

const members = ["group:a", "group:b", "reviewer:ana", "reviewer:li"];
const requirements: fc.Arbitrary<Requirement> = fc.record({
  from: fc.array(fc.subarray(members, { minLength: 1 }), { maxLength: 2 }),
  quorum: fc.integer({ min: 1, max: 3 }),
  excludeOwner: fc.boolean(),
  confirm: fc.constantFrom<Confirm>({ kind: "click" }, { kind: "match" }, { kind: "passkey" }),
  noteRequired: fc.boolean(),
  withinMs: fc.option(fc.integer({ min: 1, max: 9 })),
  grants: fc.boolean(),
});
const approvers = fc.array(
  fc.record({
    name: fc.constantFrom("ana", "li", "mo"),
    groups: fc.subarray(["a", "b"]),
    isOwner: fc.constantFrom(true, false, undefined),
  }),
);

test("[ours.policy.stricter] what meets the merged requirement meets each of them", () => {
  const property = fc.property(requirements, requirements, approvers, (left, right, people) => {
    if (!isMet(mergeRequirements([left, right]), people)) return;
    // Who decides for one rule need not be asked by the other.
    assert.ok(people.some((each) => permits(left, each)));
    for (const one of [left, right]) {
      for (const set of one.from) assert.ok(isMet(requirement({ from: [set] }), people));
    }
  });
  fc.assert(property, { numRuns: 500 });
});

test("[ours.policy.order] merging does not depend on the order", () => {
  const property = fc.property(fc.array(requirements), (all) => {
    assert.deepEqual(mergeRequirements(all), mergeRequirements([...all].reverse()));
  });
  fc.assert(property);
});
