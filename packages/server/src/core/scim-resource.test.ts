import assert from "node:assert/strict";
import { test } from "node:test";
import { assertComplete, readResource, replaceResource } from "./scim-resource.ts";
import { GROUP_SCHEMA, USER_SCHEMA } from "./scim-schema.ts";

test("[ours.scim.protocol] a resource keeps only attributes that clients may write, in their spelling", () => {
  const input = {
    USERNAME: "ana",
    id: "chosen",
    active: "False",
    password: "secret",
    displayName: null,
    emails: [],
    groups: [{ value: "admin" }],
    "urn:ietf:params:scim:schemas:core:2.0:User:externalId": "x",
    name: { GivenName: "Ana", middleName: "B" },
    __proto__: { active: true },
  };
  assert.deepEqual(readResource(USER_SCHEMA, input), {
    userName: "ana",
    active: false,
    externalId: "x",
    name: { givenName: "Ana" },
  });
  const group = { displayName: "g", members: ["1", { value: "2", display: "b" }] };
  assert.deepEqual(readResource(GROUP_SCHEMA, group).members, [{ value: "1" }, { value: "2" }]);
});

test("[ours.scim.protocol] a value of another type is rejected", () => {
  const wrong = [
    { active: 1 },
    { active: "yes" },
    { userName: 5 },
    { userName: "a\u0000b" },
    { userName: "\ud800" },
    { userName: "x".repeat(1_025) },
    { name: "Ana" },
    { emails: 5 },
    { emails: Array.from({ length: 51 }, (_, i) => `${i}@example.com`) },
  ];
  for (const input of wrong) {
    const read = () => readResource(USER_SCHEMA, input);
    assert.throws(read, { scimType: "invalidValue" }, JSON.stringify(input).slice(0, 80));
  }
  assert.throws(() => readResource(USER_SCHEMA, null), { scimType: "invalidSyntax" });
});

test("PUT removes what it omits, except active", () => {
  const before = { userName: "ana", displayName: "Ana", active: false };
  const after = replaceResource(USER_SCHEMA, before, { userName: "ana.b" });
  assert.deepEqual(after, { userName: "ana.b", active: false });
  const enabled = replaceResource(USER_SCHEMA, before, { userName: "ana", active: true });
  assert.equal(enabled.active, true);
  assert.throws(() => assertComplete(USER_SCHEMA, { active: true }), { scimType: "invalidValue" });
});
