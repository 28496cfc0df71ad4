import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Authorization,
  invitationRefusal,
  isAbove,
  roleAboveMessage,
  roleRefusal,
  tokenRefusal,
} from "./delegation.ts";
import { REVIEWER_ROLES, type ReviewerRole } from "./roles.ts";
import type { Authority, Scopes } from "./scopes.ts";

const ADMIN: Authority = { role: "admin", scopes: null };

function authorization(
  role: ReviewerRole,
  ...groups: string[]
): Pick<Authorization, "role" | "groups"> {
  return { role, groups };
}

function lack(power: string): string {
  return `your role or your token lacks the power \`${power}\`.`;
}

test("[ours.authorization.no-more-than-own] a role is above another when it allows what that does not", () => {
  const above = (role: ReviewerRole) => REVIEWER_ROLES.filter((other) => isAbove(role, other));
  assert.deepEqual(above("viewer"), []);
  assert.deepEqual(above("reviewer"), ["viewer", "editor", "auditor"]);
  assert.deepEqual(above("auditor"), ["viewer", "reviewer", "editor"]);
  assert.deepEqual(above("admin"), ["viewer", "reviewer", "editor", "auditor"]);
  assert.deepEqual(above("operator"), REVIEWER_ROLES.slice(0, -1));
});

test("[ours.authorization.no-more-than-own] a reviewer assigns only roles with powers that the reviewer has", () => {
  for (const role of ["viewer", "reviewer", "editor", "auditor", "admin"] as const) {
    assert.equal(roleRefusal(ADMIN, authorization(role)), undefined, role);
  }
  const operator = `You cannot assign the role operator: ${lack("server")}`;
  assert.equal(roleRefusal(ADMIN, authorization("operator")), operator);
  const narrow = { role: "admin", scopes: ["people"] } as const;
  assert.equal(roleRefusal(narrow, authorization("viewer")), undefined);
  const reviewer = `You cannot assign the role reviewer: ${lack("decide")}`;
  assert.equal(roleRefusal(narrow, authorization("reviewer")), reviewer);
});

test("[ours.authorization.no-more-than-own] a reviewer cannot change a higher role, and keeping a role is not an assignment", () => {
  const before = authorization("operator", "dba");
  assert.equal(
    roleRefusal(ADMIN, authorization("viewer"), before),
    "The role operator is above yours.",
  );
  assert.equal(roleRefusal(ADMIN, authorization("viewer"), before), roleAboveMessage("operator"));
  assert.equal(
    roleRefusal({ role: "operator", scopes: null }, authorization("viewer"), before),
    undefined,
  );
  const narrow = { role: "admin", scopes: ["people"] } as const;
  assert.equal(
    roleRefusal(narrow, authorization("reviewer"), authorization("reviewer")),
    undefined,
  );
  assert.equal(
    roleRefusal(narrow, authorization("viewer"), authorization("admin")),
    undefined,
    "lowered",
  );
});

test("[ours.authorization.no-more-than-own] a token that decides for groups gives no other group", () => {
  const narrow = { role: "admin", scopes: ["people", "decide:dba"] } as const;
  assert.equal(roleRefusal(narrow, authorization("viewer", "dba")), undefined);
  const outside = "The scopes of your token do not let you assign the group ops.";
  assert.equal(roleRefusal(narrow, authorization("viewer", "dba", "ops")), outside);
  const had = authorization("viewer", "ops");
  assert.equal(
    roleRefusal(narrow, authorization("viewer", "ops", "dba"), had),
    undefined,
    "it was there",
  );
  assert.equal(roleRefusal(ADMIN, authorization("viewer", "ops")), undefined);
});

test("[ours.sign-in.invitation.power] a bot cannot invite, and inviting requires the power read", () => {
  const person = { ...ADMIN, isBot: false };
  assert.equal(invitationRefusal(person, authorization("admin", "dba")), undefined);
  const bot = "Bots cannot create invitations.";
  assert.equal(invitationRefusal({ ...ADMIN, isBot: true }, authorization("viewer")), bot);
  const blind = { role: "admin", scopes: ["people"], isBot: false } as const;
  assert.equal(
    invitationRefusal(blind, authorization("viewer")),
    `You cannot create invitations: ${lack("read")}`,
  );
  const reading = { ...blind, scopes: ["people", "read"] };
  assert.equal(invitationRefusal(reading, authorization("viewer")), undefined);
  const reviewer = `You cannot assign the role reviewer: ${lack("decide")}`;
  assert.equal(invitationRefusal(reading, authorization("reviewer")), reviewer);
});

test("[ours.authorization.no-more-than-own] a token does no more than the token at hand does", () => {
  const refusal = (
    delegator: Scopes,
    scopes: Scopes,
    role: ReviewerRole = "reviewer",
    by = ADMIN.role,
  ) => tokenRefusal({ role: by, scopes: delegator }, { role, scopes });
  const cannot = (power: string) => `You cannot issue such a token: ${lack(power)}`;
  assert.equal(refusal(null, null, "admin"), undefined);
  assert.equal(refusal(null, null, "operator"), cannot("server"));
  assert.equal(refusal(null, ["read"], "operator"), undefined, "narrowed, it does less");
  assert.equal(refusal(["people", "decide", "freeze"], null), cannot("read"));
  assert.equal(refusal(["people", "read"], null), cannot("decide"));
  assert.equal(refusal(["people", "read"], null, "viewer"), undefined);
  assert.equal(refusal(["people", "read"], ["read"]), undefined, "it decides nothing");
  assert.equal(refusal(null, ["read"], "reviewer", "editor"), undefined, "nor can its issuer");
  assert.equal(refusal(["people"], ["read"], "viewer"), cannot("read"));
});

test("[ours.authorization.no-more-than-own] a token decides for no group that the token at hand does not decide for", () => {
  const refusal = (delegator: Scopes, scopes: Scopes, by = ADMIN.role) =>
    tokenRefusal({ role: by, scopes: delegator }, { role: "reviewer", scopes });
  const fewer = "You cannot issue such a token: your token decides for fewer groups.";
  const own = ["people", "decide:dba", "decide:ops"];
  assert.equal(refusal(own, ["decide:dba"]), undefined);
  assert.equal(refusal(own, ["decide:dba", "decide:lead"]), fewer);
  assert.equal(refusal(["people"], ["decide:dba"]), fewer);
  assert.equal(refusal(null, ["decide:dba"]), undefined);
  const decide = `You cannot issue such a token: ${lack("decide")}`;
  assert.equal(refusal(null, ["decide:dba"], "editor"), decide);
});
