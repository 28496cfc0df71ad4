import assert from "node:assert/strict";
import { test } from "node:test";
import { allows, type Power, powersOf, REVIEWER_ROLES, type ReviewerRole } from "./roles.ts";

const POWERS: readonly Power[] = [
  "read",
  "decide",
  "freeze",
  "publish",
  "people",
  "audit",
  "server",
];

const TABLE: Readonly<Record<ReviewerRole, readonly Power[]>> = {
  viewer: ["read"],
  reviewer: ["read", "decide", "freeze"],
  editor: ["read", "publish"],
  auditor: ["read", "audit"],
  admin: ["read", "decide", "freeze", "publish", "people", "audit"],
  operator: ["read", "decide", "freeze", "publish", "people", "audit", "server"],
};

test("[ours.authorization.roles] each role allows what its line of the table says and nothing else", () => {
  assert.deepEqual(REVIEWER_ROLES, Object.keys(TABLE));
  for (const role of REVIEWER_ROLES) {
    const allowed = POWERS.filter((power) => allows(role, power));
    assert.deepEqual(allowed, TABLE[role], role);
    assert.deepEqual(["read", ...powersOf(role)], allowed, role);
  }
});

test("[ours.authorization.roles] an unknown role, or an inherited object property, permits only reading", () => {
  for (const name of ["", "owner", "constructor", "toString", "__proto__"]) {
    const role = name as ReviewerRole;
    assert.deepEqual(powersOf(role), []);
    assert.deepEqual(
      POWERS.filter((power) => allows(role, power)),
      ["read"],
    );
  }
});
