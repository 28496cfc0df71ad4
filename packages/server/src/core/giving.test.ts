import assert from "node:assert/strict";
import { test } from "node:test";
import { aboveYours, type Gift, invitationBar, isAbove, roleBar, tokenBar } from "./giving.ts";
import { REVIEWER_ROLES, type ReviewerRole } from "./roles.ts";
import type { Authority, Scopes } from "./scopes.ts";

const ADMIN: Authority = { role: "admin", scopes: null };

function gift(role: ReviewerRole, ...groups: string[]): Pick<Gift, "role" | "groups"> {
  return { role, groups };
}

function lack(power: string): string {
  return `you lack the power \`${power}\` yourself, or your token does.`;
}

test("[ours.authorization.no-more-than-own] a role is above another when it allows what that does not", () => {
  const above = (role: ReviewerRole) => REVIEWER_ROLES.filter((other) => isAbove(role, other));
  assert.deepEqual(above("viewer"), []);
  assert.deepEqual(above("reviewer"), ["viewer", "editor", "auditor"]);
  assert.deepEqual(above("auditor"), ["viewer", "reviewer", "editor"]);
  assert.deepEqual(above("admin"), ["viewer", "reviewer", "editor", "auditor"]);
  assert.deepEqual(above("operator"), REVIEWER_ROLES.slice(0, -1));
});

test("[ours.authorization.no-more-than-own] somebody gives roles of powers that they have, and no other", () => {
  for (const role of ["viewer", "reviewer", "editor", "auditor", "admin"] as const) {
    assert.equal(roleBar(ADMIN, gift(role)), undefined, role);
  }
  const operator = `You cannot give the role operator: ${lack("server")}`;
  assert.equal(roleBar(ADMIN, gift("operator")), operator);
  const narrow = { role: "admin", scopes: ["people"] } as const;
  assert.equal(roleBar(narrow, gift("viewer")), undefined);
  const reviewer = `You cannot give the role reviewer: ${lack("decide")}`;
  assert.equal(roleBar(narrow, gift("reviewer")), reviewer);
});

test("[ours.authorization.no-more-than-own] nobody changes who is above them, and what somebody has is not given", () => {
  const before = gift("operator", "dba");
  assert.equal(roleBar(ADMIN, gift("viewer"), before), "The role operator is above yours.");
  assert.equal(roleBar(ADMIN, gift("viewer"), before), aboveYours("operator"));
  assert.equal(roleBar({ role: "operator", scopes: null }, gift("viewer"), before), undefined);
  const narrow = { role: "admin", scopes: ["people"] } as const;
  assert.equal(roleBar(narrow, gift("reviewer"), gift("reviewer")), undefined);
  assert.equal(roleBar(narrow, gift("viewer"), gift("admin")), undefined, "lowered");
});

test("[ours.authorization.no-more-than-own] a token that decides for groups gives no other group", () => {
  const narrow = { role: "admin", scopes: ["people", "decide:dba"] } as const;
  assert.equal(roleBar(narrow, gift("viewer", "dba")), undefined);
  const beyond = "The scopes of your token do not let you give the group ops.";
  assert.equal(roleBar(narrow, gift("viewer", "dba", "ops")), beyond);
  const had = gift("viewer", "ops");
  assert.equal(roleBar(narrow, gift("viewer", "ops", "dba"), had), undefined, "it was there");
  assert.equal(roleBar(ADMIN, gift("viewer", "ops")), undefined);
});

test("[ours.sign-in.invitation.power] a bot invites nobody, and who invites may look: whoever signs in may", () => {
  const person = { ...ADMIN, isBot: false };
  assert.equal(invitationBar(person, gift("admin", "dba")), undefined);
  const bot = "A bot invites nobody: whoever used the link would count as a person.";
  assert.equal(invitationBar({ ...ADMIN, isBot: true }, gift("viewer")), bot);
  const blind = { role: "admin", scopes: ["people"], isBot: false } as const;
  assert.equal(invitationBar(blind, gift("viewer")), `You cannot invite anybody: ${lack("read")}`);
  const looking = { ...blind, scopes: ["people", "read"] };
  assert.equal(invitationBar(looking, gift("viewer")), undefined);
  const reviewer = `You cannot give the role reviewer: ${lack("decide")}`;
  assert.equal(invitationBar(looking, gift("reviewer")), reviewer);
});

test("[ours.authorization.no-more-than-own] a token does no more than the token at hand does", () => {
  const bar = (giver: Scopes, scopes: Scopes, role: ReviewerRole = "reviewer", by = ADMIN.role) =>
    tokenBar({ role: by, scopes: giver }, { role, scopes });
  const cannot = (power: string) => `You cannot issue such a token: ${lack(power)}`;
  assert.equal(bar(null, null, "admin"), undefined);
  assert.equal(bar(null, null, "operator"), cannot("server"));
  assert.equal(bar(null, ["read"], "operator"), undefined, "narrowed, it does less");
  assert.equal(bar(["people", "decide", "freeze"], null), cannot("read"));
  assert.equal(bar(["people", "read"], null), cannot("decide"));
  assert.equal(bar(["people", "read"], null, "viewer"), undefined);
  assert.equal(bar(["people", "read"], ["read"]), undefined, "it decides nothing");
  assert.equal(bar(null, ["read"], "reviewer", "editor"), undefined, "nor would its giver");
  assert.equal(bar(["people"], ["read"], "viewer"), cannot("read"));
});

test("[ours.authorization.no-more-than-own] a token decides for no group that the token at hand does not decide for", () => {
  const bar = (giver: Scopes, scopes: Scopes, by = ADMIN.role) =>
    tokenBar({ role: by, scopes: giver }, { role: "reviewer", scopes });
  const fewer = "You cannot issue such a token: yours decides for fewer groups.";
  const own = ["people", "decide:dba", "decide:ops"];
  assert.equal(bar(own, ["decide:dba"]), undefined);
  assert.equal(bar(own, ["decide:dba", "decide:lead"]), fewer);
  assert.equal(bar(["people"], ["decide:dba"]), fewer);
  assert.equal(bar(null, ["decide:dba"]), undefined);
  const decide = `You cannot issue such a token: ${lack("decide")}`;
  assert.equal(bar(null, ["decide:dba"], "editor"), decide);
});
