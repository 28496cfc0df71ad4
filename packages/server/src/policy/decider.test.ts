import assert from "node:assert/strict";
import { test } from "node:test";
import {
  approvalRefusal,
  collectsVotes,
  confirmationFault,
  type Decider,
  denialRefusal,
  FAILED_ATTEMPTS_MAX,
  failedAttemptsRefusal,
  isBlank,
  isEnough,
  needsPasskey,
  passkeyRefusal,
} from "./decider.ts";
import { NO_REQUIREMENT, type Requirement } from "./rule.ts";

const INSTANCE = { instanceId: "i1", ownerId: "owner" };

function reviewer(id: string, ...groups: string[]): Decider {
  return { id, name: `name of ${id}`, groups, isBot: false, forGroups: null };
}

function asks(requirement: Partial<Requirement>): Requirement {
  return { ...NO_REQUIREMENT, ...requirement };
}

test("without named reviewers, every reviewer may approve and deny", () => {
  assert.equal(approvalRefusal(NO_REQUIREMENT, reviewer("a"), INSTANCE), undefined);
  assert.equal(denialRefusal(NO_REQUIREMENT, reviewer("a"), INSTANCE), undefined);
  assert.equal(approvalRefusal(NO_REQUIREMENT, reviewer("owner"), INSTANCE), undefined);
});

test("a decider belongs to at least one set, by a group or by name", () => {
  const requirement = asks({ from: [["group:dba", "reviewer:name of z"], ["group:lead"]] });
  for (const decider of [reviewer("a", "x", "dba"), reviewer("z"), reviewer("b", "lead")]) {
    assert.equal(approvalRefusal(requirement, decider, INSTANCE), undefined);
    assert.equal(denialRefusal(requirement, decider, INSTANCE), undefined);
  }
  const others = [reviewer("a"), reviewer("dba"), reviewer("a", "db"), reviewer("a", "group:dba")];
  for (const decider of others) {
    const refusal = "Only group:dba, group:lead, reviewer:name of z may decide this call.";
    assert.equal(approvalRefusal(requirement, decider, INSTANCE), refusal);
    assert.equal(denialRefusal(requirement, decider, INSTANCE), refusal);
  }
});

test("a group is not taken for a person of the same name", () => {
  const requirement = asks({ from: [["reviewer:dba"]] });
  assert.notEqual(approvalRefusal(requirement, reviewer("a", "dba"), INSTANCE), undefined);
  const named = { ...reviewer("a"), name: "dba" };
  assert.equal(approvalRefusal(requirement, named, INSTANCE), undefined);
  assert.notEqual(approvalRefusal(asks({ from: [["group:dba"]] }), named, INSTANCE), undefined);
});

test("an excluded owner may deny and not approve", () => {
  const requirement = asks({ excludeOwner: true, from: [["group:dba"]] });
  assert.match(approvalRefusal(requirement, reviewer("owner", "dba"), INSTANCE) ?? "", /owner/);
  assert.equal(approvalRefusal(requirement, reviewer("other", "dba"), INSTANCE), undefined);
  assert.equal(denialRefusal(requirement, reviewer("owner"), INSTANCE), undefined);
  assert.notEqual(denialRefusal(requirement, reviewer("other"), INSTANCE), undefined);
});

test("an excluded owner without an owner on the instance blocks approvals", () => {
  const unowned = { instanceId: "i1", ownerId: null };
  const refusal = approvalRefusal(asks({ excludeOwner: true }), reviewer("a"), unowned);
  assert.match(refusal ?? "", /has no owner\. .* instances set i1 --owner NAME\.$/);
  assert.equal(denialRefusal(asks({ excludeOwner: true }), reviewer("a"), unowned), undefined);
});

test("a quorum counts people, and each of them once", () => {
  const requirement = asks({ quorum: 2 });
  assert.equal(isEnough(requirement, []), false);
  assert.equal(isEnough(requirement, [reviewer("a"), reviewer("a")]), false);
  assert.equal(isEnough(requirement, [reviewer("a"), reviewer("b")]), true);
  assert.equal(isEnough(NO_REQUIREMENT, []), false);
});

test("every set needs a member among the approvers, who may be the same", () => {
  const requirement = asks({ from: [["group:dba"], ["group:lead"]] });
  assert.equal(isEnough(requirement, [reviewer("a", "dba"), reviewer("b", "dba")]), false);
  assert.equal(isEnough(requirement, [reviewer("a", "dba"), reviewer("b", "lead")]), true);
  assert.equal(isEnough(requirement, [reviewer("a", "dba", "lead")]), true);
  const two = { ...requirement, quorum: 2 };
  assert.equal(isEnough(two, [reviewer("a", "dba", "lead")]), false);
  assert.equal(isEnough(two, [reviewer("a", "dba", "lead"), reviewer("b", "dba")]), true);
});

test("votes are kept where one approval may not be enough", () => {
  assert.equal(collectsVotes(NO_REQUIREMENT), false);
  assert.equal(collectsVotes(asks({ from: [["group:a", "group:b"]] })), false);
  assert.equal(collectsVotes(asks({ from: [["group:a"], ["group:b"]] })), true);
  assert.equal(collectsVotes(asks({ quorum: 2 })), true);
});

test("a confirmation is the exact text, or the end of the id, or not needed", () => {
  const fault = (confirm: Requirement["confirm"], given: string | undefined) =>
    confirmationFault(confirm, "0190-abcd", given);
  assert.equal(fault({ kind: "click" }, undefined), undefined);
  assert.equal(fault({ kind: "click" }, "anything"), undefined);
  const type = { kind: "type", text: "Prod 1" } as const;
  assert.equal(fault(type, "Prod 1"), undefined);
  for (const given of [undefined, "", "prod 1", "Prod 1 ", "Prod"]) {
    assert.match(fault(type, given) ?? "", /exact text/);
  }
  assert.equal(fault({ kind: "match" }, "abcd"), undefined);
  for (const given of [undefined, "", "ABCD", "-abcd", "0190-abcd"]) {
    assert.match(fault({ kind: "match" }, given) ?? "", /last 4/);
  }
});

test("[ours.passkey.people] only a signed-in user with a passkey can sign, and every reviewer can deny", () => {
  const requirement = asks({ confirm: { kind: "passkey" } });
  assert.equal(needsPasskey(requirement), true);
  assert.equal(needsPasskey(asks({ confirm: { kind: "match" } })), false);
  assert.equal(approvalRefusal(requirement, reviewer("a"), INSTANCE), undefined);
  assert.equal(denialRefusal(requirement, reviewer("a"), INSTANCE), undefined);
  assert.match(
    passkeyRefusal({ isPerson: false, hasPasskey: true }) ?? "",
    /a token can only deny/,
  );
  assert.match(passkeyRefusal({ isPerson: true, hasPasskey: false }) ?? "", /you have none/);
  assert.equal(passkeyRefusal({ isPerson: true, hasPasskey: true }), undefined);
});

test("an unknown kind of confirmation blocks approvals", () => {
  const requirement = asks({ confirm: { kind: "palm" } as unknown as Requirement["confirm"] });
  assert.match(approvalRefusal(requirement, reviewer("a"), INSTANCE) ?? "", /does not support/);
});

test("a note of invisible characters is blank", () => {
  for (const note of [
    undefined,
    "",
    " \n\t",
    "\u00a0\u200b\u2060\ufeff",
    "\u3164\u2800",
    "\u0000",
  ]) {
    assert.equal(isBlank(note), true, JSON.stringify(note));
  }
  for (const note of ["x", " . ", "\u200bé", "語"]) assert.equal(isBlank(note), false, note);
});

test("a refusal lists at most ten names", () => {
  const names = Array.from({ length: 25 }, (_, i) => `group:g${i + 10}`);
  const refusal = approvalRefusal(asks({ from: [names] }), reviewer("a"), INSTANCE) ?? "";
  assert.match(refusal, /^Only group:g10, .*group:g19 and 15 others may decide this call\.$/);
  const ten = approvalRefusal(asks({ from: [names.slice(0, 10)] }), reviewer("a"), INSTANCE) ?? "";
  assert.match(ten, /^Only group:g10, .*group:g19 may decide this call\.$/);
});

test("a confirmation of a kind that this program does not know is never taken for a click", () => {
  const confirm = { kind: "face" } as unknown as Requirement["confirm"];
  const refusal = approvalRefusal(asks({ confirm }), reviewer("a"), INSTANCE);
  assert.match(refusal ?? "", /that this server does not support/);
  assert.equal(denialRefusal(asks({ confirm }), reviewer("a"), INSTANCE), undefined);
});

test("[ours.policy.bots] a bot approves only what a rule lets bots approve, and may deny the rest", () => {
  const bot = { ...reviewer("b", "ci"), isBot: true };
  for (const from of [[], [["group:ci"]], [["reviewer:name of b"]]]) {
    assert.match(
      approvalRefusal(asks({ from }), bot, INSTANCE) ?? "",
      /Bots cannot approve this call/,
    );
    assert.equal(approvalRefusal(asks({ from, bots: true }), bot, INSTANCE), undefined);
    assert.equal(denialRefusal(asks({ from }), bot, INSTANCE), undefined);
  }
  const others = asks({ from: [["group:dba"]], bots: true });
  assert.match(approvalRefusal(others, bot, INSTANCE) ?? "", /^Only group:dba/);
});

test("[ours.authorization.scopes] a reviewer limited to a group decides only for that group", () => {
  const narrowed = { ...reviewer("a", "dba", "ops"), forGroups: ["dba", "finance"] };
  const reaches = (from: Requirement["from"]) =>
    approvalRefusal(asks({ from }), narrowed, INSTANCE) === undefined;
  assert.ok(reaches([["group:dba"]]));
  assert.ok(reaches([["group:ops"], ["group:dba"]]));
  // Open to everybody, by another group, by name, by a group that the holder is not in.
  for (const from of [[], [["group:ops"]], [["reviewer:name of a"]], [["group:finance"]]]) {
    assert.ok(!reaches(from), JSON.stringify(from));
    assert.match(
      denialRefusal(asks({ from }), narrowed, INSTANCE) ?? "",
      /^The scopes of this token \(decide:dba, decide:finance\) do not cover this call/,
    );
  }
  const owner = { ...narrowed, id: "owner" };
  assert.notEqual(denialRefusal(asks({ from: [["group:x"]] }), owner, INSTANCE), undefined);
});

test("[ours.authorization.scopes] a reviewer limited to a group counts only for that group in a quorum", () => {
  const both = reviewer("a", "dba", "ops");
  const two = asks({ from: [["group:dba"], ["group:ops"]], quorum: 1 });
  assert.equal(isEnough(two, [both]), true);
  assert.equal(isEnough(two, [{ ...both, forGroups: ["dba"] }]), false);
});

test("[ours.verdict.confirmation] three wrong confirmations block approvals, with the reason", () => {
  assert.equal(FAILED_ATTEMPTS_MAX, 3);
  for (const attempts of [0, 1, 2]) assert.equal(failedAttemptsRefusal(attempts), undefined);
  const sentence =
    "You have sent three wrong confirmations, so you cannot approve this call any more.";
  for (const attempts of [3, 4]) assert.equal(failedAttemptsRefusal(attempts), sentence);
});

test("[ours.verdict.confirmation] a supported confirmation blocks no approval", () => {
  const confirms: readonly Requirement["confirm"][] = [
    { kind: "click" },
    { kind: "match" },
    { kind: "passkey" },
    { kind: "type", text: "prod" },
  ] as Requirement["confirm"][];
  for (const confirm of confirms) {
    assert.equal(
      approvalRefusal(asks({ confirm }), reviewer("a"), INSTANCE),
      undefined,
      confirm.kind,
    );
  }
});
