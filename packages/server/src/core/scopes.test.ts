import assert from "node:assert/strict";
import { test } from "node:test";
import { allows, type Power, REVIEWER_ROLES, type ReviewerRole } from "./roles.ts";
import {
  includesPower,
  intersectGroups,
  isPermitted,
  mayVote,
  scopesFault,
  toScopes,
  votingGroups,
  votingGroupsOfTokens,
} from "./scopes.ts";

const POWERS: readonly Power[] = [
  "read",
  "decide",
  "freeze",
  "publish",
  "people",
  "audit",
  "server",
] as Power[];

const TABLE: Readonly<Record<ReviewerRole, readonly Power[]>> = {
  viewer: ["read"],
  reviewer: ["read", "decide", "freeze"],
  editor: ["read", "publish"],
  auditor: ["read", "audit"],
  admin: ["read", "decide", "freeze", "publish", "people", "audit"],
  operator: POWERS,
};

test("[ours.authorization.roles] a role allows what its row says and nothing else", () => {
  assert.deepEqual(Object.keys(TABLE), [...REVIEWER_ROLES]);
  for (const role of REVIEWER_ROLES) {
    const allowed = POWERS.filter((power) => allows(role, power));
    assert.deepEqual(allowed, TABLE[role], role);
  }
});

test("[ours.authorization.roles] an unknown role permits only reading", () => {
  for (const role of ["owner", "constructor", "__proto__", ""]) {
    const allowed = POWERS.filter((power) => allows(role as ReviewerRole, power));
    assert.deepEqual(allowed, ["read"], role);
  }
});

test("[ours.authorization.scopes] a token may do what both role and scopes allow", () => {
  const scopes = {
    read: "read",
    decide: "decide",
    freeze: "freeze",
    policy: "publish",
    people: "people",
    audit: "audit",
  };
  for (const role of REVIEWER_ROLES) {
    for (const [scope, opened] of Object.entries(scopes)) {
      const allowed = POWERS.filter((power) => isPermitted({ role, scopes: [scope] }, power));
      assert.deepEqual(allowed, allows(role, opened as Power) ? [opened] : [], `${role} ${scope}`);
    }
    const whole = POWERS.filter((power) => isPermitted({ role, scopes: null }, power));
    assert.deepEqual(whole, TABLE[role]);
  }
});

test("[ours.authorization.scopes] no scope opens the whole server", () => {
  const scopes = ["read", "decide", "freeze", "policy", "people", "audit", "server"];
  assert.equal(isPermitted({ role: "operator", scopes }, "server"), false);
  assert.equal(isPermitted({ role: "operator", scopes: null }, "server"), true);
});

test("[ours.authorization.scopes] an unknown scope permits nothing", () => {
  for (const scope of ["constructor", "__proto__", "Read", "decide-all", "*", ""]) {
    const allowed = POWERS.filter((power) => includesPower([scope], power));
    assert.deepEqual(allowed, [], scope);
    assert.equal(mayVote({ role: "operator", scopes: [scope] }), false);
  }
});

test("[ours.authorization.scopes] to decide for a group is to vote for it, and no more", () => {
  const scopes = ["decide:dba", "decide:finance"];
  assert.equal(isPermitted({ role: "admin", scopes }, "decide"), false);
  assert.equal(mayVote({ role: "admin", scopes }), true);
  assert.equal(mayVote({ role: "viewer", scopes }), false);
  assert.deepEqual(votingGroups(scopes), ["dba", "finance"]);
  assert.equal(votingGroups(null), null);
  assert.equal(votingGroups([...scopes, "decide"]), null);
  assert.deepEqual(votingGroups(["read"]), []);
});

test("[ours.authorization.scopes] the error about an unknown scope names it", () => {
  assert.equal(scopesFault(["read", "decide", "decide:dba", "policy"]), undefined);
  assert.match(scopesFault([]) ?? "", /must not be empty/);
  const wrong = ["write", "decide:", "decide:Group", "decide:a:b", "read ", "constructor"];
  for (const scope of wrong) {
    const fault = scopesFault(["read", scope]) ?? "";
    assert.ok(fault.endsWith(`, not ${JSON.stringify(scope)}`), fault);
  }
  const many = Array.from({ length: 33 }, (_, i) => `decide:g${i}`);
  assert.equal(scopesFault(many), "must not be more than 32");
  assert.deepEqual(toScopes(["read", "decide", "read"]), ["decide", "read"]);
});

test("[ours.authorization.scopes] several ways in reach what each of them reaches, and one for everything reaches everything", () => {
  assert.deepEqual(votingGroupsOfTokens([["decide:ops"], ["decide:dba", "read"]]), ["dba", "ops"]);
  assert.deepEqual(votingGroupsOfTokens([["decide:ops"], ["decide:ops"]]), ["ops"]);
  assert.deepEqual(votingGroupsOfTokens([["read"]]), []);
  assert.deepEqual(votingGroupsOfTokens([]), []);
  assert.equal(votingGroupsOfTokens([["decide:ops"], null]), null);
  assert.equal(votingGroupsOfTokens([["decide"], ["read"]]), null);
});

test("[ours.authorization.scopes] two narrowings leave what both leave", () => {
  assert.equal(intersectGroups(null, null), null);
  assert.deepEqual(intersectGroups(null, ["ops"]), ["ops"]);
  assert.deepEqual(intersectGroups(["ops"], null), ["ops"]);
  assert.deepEqual(intersectGroups(["ops", "dba"], ["lead", "ops"]), ["ops"]);
  assert.deepEqual(intersectGroups(["ops"], ["dba"]), []);
});
