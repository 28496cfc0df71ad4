import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "@countersign/protocol";
import fc from "fast-check";
import { type ClaimMapping, type Claims, readClaims } from "./claims.ts";

const MAPPING: ClaimMapping = {
  loginClaim: "preferred_username",
  nameClaim: "name",
  groupsClaim: "groups",
  externalIdClaim: "sub",
  roles: [
    { value: "platform", project: "default", role: "admin" },
    { value: "approvers", project: "default", role: "reviewer" },
    { value: "approvers", project: "payments", role: "viewer" },
  ],
  roleDefault: undefined,
  project: "default",
  groups: [{ value: "/Finance Team", group: "finance" }],
  keepsGroups: false,
};

const CLAIMS = {
  iss: "https://login.example.com",
  sub: "248289761001",
  preferred_username: "Ana",
  name: "Ana Lima",
  groups: ["approvers"],
};

function read(claims: object = {}, mapping: Partial<ClaimMapping> = {}) {
  return readClaims({ ...CLAIMS, ...claims }, { ...MAPPING, ...mapping });
}

function refusal(claims: object, mapping: Partial<ClaimMapping> = {}): string {
  try {
    read(claims, mapping);
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    assert.equal(error.code, "sign_in_refused");
    return error.message;
  }
  return "";
}

test("[ours.oidc.identity] issuer and subject alone identify a person", () => {
  const subject = '["https://login.example.com","248289761001"]';
  assert.equal(read().subject, subject);
  assert.equal(read({ email: "li@example.com", preferred_username: "li" }).subject, subject);
  assert.notEqual(read({ iss: "https://other.example.com" }).subject, subject);
  for (const sub of [undefined, "", 7, null, ["a"], "x".repeat(256)]) {
    assert.match(refusal({ sub }), /no valid subject/, String(sub));
  }
  assert.match(refusal({ iss: undefined }), /no valid subject/);
});

test("[ours.oidc.identity] no two pairs of issuer and subject are the same person", () => {
  const part = fc.string({ minLength: 1, maxLength: 8 });
  const pair = fc.tuple(part, part);
  fc.assert(
    fc.property(pair, pair, ([iss, sub], [otherIss, otherSub]) => {
      const same = read({ iss, sub }).subject === read({ iss: otherIss, sub: otherSub }).subject;
      assert.equal(same, iss === otherIss && sub === otherSub);
    }),
  );
});

test("[ours.oidc.roles] in each project the first mapping that fits gives the role", () => {
  assert.deepEqual(read().memberships, [
    { project: "default", role: "reviewer" },
    { project: "payments", role: "viewer" },
  ]);
  assert.deepEqual(read({ groups: ["approvers", "platform"] }).memberships, [
    { project: "default", role: "admin" },
    { project: "payments", role: "viewer" },
  ]);
});

test("[ours.oidc.roles] a user without a mapped role gets the default role, or none", () => {
  for (const groups of [undefined, null, [], ["Approvers"], ["approvers "], "approver"]) {
    assert.deepEqual(read({ groups }).memberships, [], JSON.stringify(groups));
    const { memberships } = read({ groups }, { roleDefault: "viewer" });
    assert.deepEqual(memberships, [{ project: "default", role: "viewer" }]);
  }
  const elsewhere = [{ value: "approvers", project: "payments", role: "viewer" }] as const;
  const { memberships } = read({}, { roles: elsewhere, roleDefault: "reviewer" });
  assert.deepEqual(memberships, [
    { project: "payments", role: "viewer" },
    { project: "default", role: "reviewer" },
  ]);
});

test("[ours.oidc.groups] only what is mapped becomes a group, unless all well-formed names do", () => {
  const groups = ["approvers", "/Finance Team", "dba", "DBA", "a b", "-x", "x".repeat(65), ""];
  assert.deepEqual(read({ groups }).groups, ["finance"]);
  assert.deepEqual(read({ groups }, { keepsGroups: true }).groups, ["approvers", "dba", "finance"]);
  assert.deepEqual(read({ groups: ["approvers", "approvers"] }, { keepsGroups: true }).groups, [
    "approvers",
  ]);
});

test("[ours.oidc.groups] a text is a list of one, and never split", () => {
  assert.deepEqual(read({ groups: "platform" }).memberships[0]?.role, "admin");
  assert.deepEqual(read({ groups: "platform,approvers" }).memberships, []);
  assert.deepEqual(read({ groups: "platform approvers" }).memberships, []);
});

test("[ours.oidc.groups] the server rejects a sign-in with a claim that is not a list of strings", () => {
  const faults = [7, true, { approvers: true }, [["approvers"]], ["approvers", 7], [null]];
  for (const groups of faults) {
    assert.match(refusal({ groups }), /not a list of strings/, JSON.stringify(groups));
  }
  const many = Array.from({ length: 2_001 }, (_, i) => `approvers${i}`);
  assert.match(refusal({ groups: many }), /more than 2000/);
});

test("[ours.oidc.groups] groups that the provider left out refuse the sign-in", () => {
  const { groups: _, ...bare } = CLAIMS;
  const overage = [
    { _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "x" } } },
    { hasgroups: true },
    { hasgroups: "true" },
  ];
  for (const claims of overage) {
    const mapping = { ...MAPPING, roleDefault: "viewer" } as const;
    assert.throws(() => readClaims({ ...bare, ...claims }, mapping), /more groups than/);
  }
  const other = { _claim_names: { other: "src1" } };
  assert.deepEqual(read(other).memberships[0]?.role, "reviewer");
});

test("[ours.oidc.groups] more groups than a reviewer may be in refuse the sign-in", () => {
  const groups = ["approvers", ...Array.from({ length: 32 }, (_, i) => `g${i}`)];
  assert.match(refusal({ groups }, { keepsGroups: true }), /more than 32 groups/);
  assert.equal(read({ groups: groups.slice(0, 32) }, { keepsGroups: true }).groups.length, 32);
});

test("[ours.oidc.login] a login is one word that can be seen, in lower case", () => {
  assert.equal(read().login, "ana");
  assert.equal(read({ preferred_username: "ＡＮＡ@Example.com" }).login, "ana@example.com");
  assert.equal(read({ preferred_username: "Zoë.Müller" }).login, "zoë.müller");
  assert.match(refusal({ preferred_username: undefined }), /sent no preferred_username/);
  const faults = ["a b", "a\u202Eb", "a\u200Bb", "a\nb", "a\u0000", "\uD800", "a".repeat(255)];
  for (const preferred_username of faults) {
    assert.match(refusal({ preferred_username }), /invalid login/, preferred_username);
  }
});

test("[ours.oidc.login] the server rejects an unverified email address as a login", () => {
  const mapping = { loginClaim: "email" };
  const email = "ana@example.com";
  assert.equal(read({ email, email_verified: true }, mapping).login, email);
  assert.equal(read({ email }, mapping).login, email);
  assert.equal(read({ email, email_verified: "true" }, mapping).login, email);
  for (const no of [false, "false", 0, null, "", []]) {
    assert.match(refusal({ email, email_verified: no }, mapping), /not verified/);
  }
});

test("[ours.oidc.login] a name that could not be shown gives way to the login", () => {
  assert.equal(read().name, "Ana Lima");
  for (const name of [undefined, "", "  ", 7, "Ana\u202E", "x".repeat(101)]) {
    assert.equal(read({ name }).name, "ana", JSON.stringify(name));
  }
});

test("[ours.oidc.claims] an inherited object property is not a claim", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    assert.match(refusal({}, { loginClaim: name }), /sent no/);
    assert.deepEqual(read({}, { groupsClaim: name }).memberships, []);
  }
  const claims = JSON.parse(
    `{"iss":"a","sub":"b","preferred_username":"c","__proto__":{"groups":["platform"]}}`,
  ) as Claims;
  assert.deepEqual(readClaims(claims, MAPPING).memberships, []);
  const named = readClaims(JSON.parse(`{"iss":"a","sub":"b","__proto__":"c"}`), {
    ...MAPPING,
    loginClaim: "__proto__",
    roleDefault: "viewer",
  });
  assert.equal(named.login, "c");
});

test("[ours.oidc.claims] any claims result in a person or in an error without their text", () => {
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom("approvers", ["platform"], ["approvers"]));
  const claims = fc.record(
    {
      iss: value,
      sub: value,
      preferred_username: value,
      name: value,
      groups: value,
      email_verified: value,
      _claim_names: value,
      hasgroups: value,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(claims, fc.boolean(), (given, keepsGroups) => {
      try {
        const person = readClaims(given as Claims, { ...MAPPING, keepsGroups });
        assert.ok(person.groups.length <= 32);
        assert.ok(person.login !== "" && person.name !== "");
      } catch (error) {
        assert.ok(error instanceof Problem && error.code === "sign_in_refused", String(error));
      }
    }),
  );
});
