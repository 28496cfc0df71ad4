import assert from "node:assert/strict";
import { test } from "node:test";
import { memberIdsOf, toProvisionedUser, writeGroup, writeUser } from "./scim-person.ts";

test("[ours.scim.protocol] the display name is the first of displayName, the parts of name and the login", () => {
  const nameOf = (fields: object) => toProvisionedUser({ userName: "ANA", ...fields }).name;
  const name = { formatted: "Ms Lima", givenName: "Ana", familyName: "Lima" };
  assert.equal(nameOf({ displayName: "Ana L.", name }), "Ana L.");
  assert.equal(nameOf({ displayName: "\u200b", name }), "Ms Lima");
  assert.equal(nameOf({ name: { givenName: "Ana", familyName: "Lima" } }), "Ana Lima");
  assert.equal(nameOf({}), "ana");
});

test("a user name that cannot be a login is rejected", () => {
  for (const userName of ["", "a b", "a\u200bb", "x".repeat(300)]) {
    assert.throws(() => toProvisionedUser({ userName }), { scimType: "invalidValue" }, userName);
  }
});

test("an externalId that PostgreSQL cannot store or index is rejected", () => {
  const externalIdOf = (externalId: string) => toProvisionedUser({ userName: "a", externalId });
  assert.equal(externalIdOf("x".repeat(512)).externalId, "x".repeat(512));
  for (const externalId of ["x".repeat(513), "a\0", "\ud800"]) {
    assert.throws(() => externalIdOf(externalId), { scimType: "invalidValue" });
  }
});

test("members are ids of users, each once, and no groups", () => {
  const members = [{ value: "2" }, { value: "1", type: "User" }, { value: "2" }];
  assert.deepEqual(memberIdsOf({ members }), ["1", "2"]);
  assert.deepEqual(memberIdsOf({}), []);
  for (const member of [{ value: "1", type: "Group" }, { type: "User" }]) {
    assert.throws(() => memberIdsOf({ members: [member] }), { scimType: "invalidValue" });
  }
});

test("resources have their addresses, and no empty attributes", () => {
  const times = { createdAt: 0, changedAt: 1_000 };
  const user = {
    id: "u",
    userName: "ana",
    externalId: null,
    isActive: true,
    attributes: { displayName: undefined },
    groups: [{ id: "g", displayName: "team" }],
    ...times,
  };
  const base = "https://countersign.example.com/scim/v2";
  assert.deepEqual(writeUser(user, base), {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    id: "u",
    userName: "ana",
    active: true,
    groups: [{ value: "g", $ref: `${base}/Groups/g`, display: "team" }],
    meta: {
      resourceType: "User",
      created: "1970-01-01T00:00:00.000Z",
      lastModified: "1970-01-01T00:00:01.000Z",
      location: `${base}/Users/u`,
    },
  });
  const group = { id: "g", displayName: "team", externalId: "x", members: ["u"], ...times };
  const { members, externalId } = writeGroup(group, base);
  assert.deepEqual(members, [{ value: "u", $ref: `${base}/Users/u`, type: "User" }]);
  assert.equal(externalId, "x");
});
