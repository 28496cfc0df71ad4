import assert from "node:assert/strict";
import { test } from "node:test";
import { applyPatch } from "./scim-patch.ts";
import { GROUP_SCHEMA, type ResourceSchema, USER_SCHEMA } from "./scim-schema.ts";

const ANA = {
  userName: "ana",
  active: true,
  name: { familyName: "Lima" },
  emails: [{ value: "a@example.com", type: "work", primary: true }],
};

const TEAM = { displayName: "team", members: [{ value: "1" }, { value: "2" }] };

function patch(schema: ResourceSchema, before: object, ...operations: readonly object[]): object {
  return applyPatch(schema, before as never, { Operations: operations });
}

test("[ours.scim.protocol] requests of Microsoft Entra ID apply", () => {
  const extension = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
  const after = patch(
    USER_SCHEMA,
    ANA,
    { op: "Replace", path: "active", value: "False" },
    { op: "Add", path: 'emails[type eq "other"].value', value: "o@example.com" },
    { op: "Replace", path: 'emails[type eq "work"].value', value: "w@example.com" },
    { op: "Replace", path: "name.givenName", value: "Ana" },
    { op: "Add", path: `${extension}:department`, value: "Sales" },
    { op: "Replace", path: 'addresses[type eq "work"].locality', value: "Porto" },
    { op: "Add", value: { displayName: "Ana Lima", "name.familyName": "Lima Reis" } },
  );
  assert.deepEqual(after, {
    userName: "ana",
    active: false,
    displayName: "Ana Lima",
    name: { givenName: "Ana", familyName: "Lima Reis" },
    emails: [
      { type: "work", primary: true, value: "w@example.com" },
      { type: "other", value: "o@example.com" },
    ],
  });
  const removed = { op: "Remove", path: "members", value: [{ value: "1" }] };
  assert.deepEqual(patch(GROUP_SCHEMA, TEAM, removed), {
    displayName: "team",
    members: [{ value: "2" }],
  });
});

test("[ours.scim.protocol] requests of Okta apply", () => {
  const user = { op: "replace", value: { id: "ignored", active: false } };
  assert.deepEqual(patch(USER_SCHEMA, ANA, user), { ...ANA, active: false });
  const renamed = { op: "replace", value: { id: "ignored", displayName: "crew" } };
  assert.deepEqual(patch(GROUP_SCHEMA, TEAM, renamed), { ...TEAM, displayName: "crew" });
  const members = [
    { op: "remove", path: 'members[value eq "1"]' },
    { op: "add", path: "members", value: [{ value: "3", display: "c@example.com" }] },
  ];
  assert.deepEqual(patch(GROUP_SCHEMA, TEAM, ...members), {
    displayName: "team",
    members: [{ value: "2" }, { value: "3" }],
  });
});

test("[ours.scim.protocol] add, replace and remove of values of a list", () => {
  const value = (id: string) => ({ value: id });
  const rows: readonly (readonly [object, readonly object[] | undefined])[] = [
    [{ op: "add", path: "members", value: [value("2"), value("3")] }, ["1", "2", "3"].map(value)],
    [{ op: "add", path: "members", value: value("3") }, ["1", "2", "3"].map(value)],
    [{ op: "replace", path: "members", value: [value("3")] }, [value("3")]],
    [{ op: "replace", path: "members", value: [] }, undefined],
    [{ op: "remove", path: "members" }, undefined],
    [{ op: "remove", path: 'members[value eq "9"]' }, ["1", "2"].map(value)],
    [{ op: "remove", path: 'members[value eq "1" or value eq "2"]' }, undefined],
  ];
  for (const [operation, members] of rows) {
    const after = patch(GROUP_SCHEMA, TEAM, operation) as { members?: unknown };
    assert.deepEqual(after.members, members, JSON.stringify(operation));
  }
  const primary = { op: "add", path: "emails", value: { value: "b@example.com", primary: true } };
  assert.deepEqual((patch(USER_SCHEMA, ANA, primary) as { emails: unknown }).emails, [
    { value: "a@example.com", type: "work" },
    { value: "b@example.com", primary: true },
  ]);
  const gone = patch(USER_SCHEMA, ANA, { op: "remove", path: "emails[primary eq true]" });
  assert.equal("emails" in gone, false);
});

test("[ours.scim.protocol] an invalid operation is rejected", () => {
  const rows: readonly (readonly [object, string])[] = [
    [{ op: "move", path: "active" }, "invalidSyntax"],
    [{ path: "active", value: true }, "invalidSyntax"],
    [{ op: "replace", path: "activ", value: false }, "invalidPath"],
    [{ op: "replace", path: "active.sub", value: false }, "invalidPath"],
    [{ op: "replace", path: 'name[formatted eq "x"]', value: {} }, "invalidPath"],
    [{ op: "replace", path: "emails[", value: "x" }, "invalidPath"],
    [{ op: "replace", path: "emails[type]", value: "x" }, "invalidFilter"],
    [{ op: "replace", path: 5, value: "x" }, "invalidPath"],
    [{ op: "replace", path: "active", value: "no" }, "invalidValue"],
    [{ op: "replace", value: { activ: false } }, "invalidPath"],
    [{ op: "replace", value: "x" }, "invalidValue"],
    [{ op: "remove" }, "noTarget"],
    [{ op: "replace", path: 'emails[type sw "x"].value', value: "x" }, "noTarget"],
    [{ op: "replace", path: "id", value: "x" }, "mutability"],
    [{ op: "add", path: "groups", value: [{ value: "x" }] }, "mutability"],
  ];
  for (const [operation, scimType] of rows) {
    assert.throws(
      () => patch(USER_SCHEMA, ANA, operation),
      { scimType },
      JSON.stringify(operation),
    );
  }
  assert.throws(() => applyPatch(USER_SCHEMA, ANA, {}), { scimType: "invalidSyntax" });
  assert.throws(() => patch(USER_SCHEMA, ANA), { scimType: "invalidSyntax" });
  const many = Array.from({ length: 101 }, () => ({ op: "remove", path: "emails" }));
  assert.throws(() => patch(USER_SCHEMA, ANA, ...many), { scimType: "invalidValue" });
  const terms = Array.from({ length: 20 }, () => 'value eq "x"').join(" or ");
  const long = { op: "remove", path: `emails[${terms}]` };
  assert.throws(() => patch(USER_SCHEMA, ANA, long), { scimType: "invalidFilter" });
});

test("[ours.scim.protocol] operations cannot add more emails than one request may have", () => {
  const add = (n: number) => ({ op: "add", path: "emails", value: { value: `${n}@example.com` } });
  const adds = Array.from({ length: 50 }, (_, n) => add(n));
  assert.throws(() => patch(USER_SCHEMA, ANA, ...adds), { scimType: "invalidValue" });
});

test("[ours.scim.protocol] a path to a part of an empty list adds a value", () => {
  const { emails: _, ...bare } = ANA;
  const emails = [{ value: "w@example.com" }];
  for (const path of ["emails.value", "emails[type eq null].value"]) {
    const add = { op: "add", path, value: "w@example.com" };
    assert.deepEqual(patch(USER_SCHEMA, bare, add), { ...bare, emails }, path);
  }
});
