import assert from "node:assert/strict";
import { test } from "node:test";
import { findAttribute, GROUP_SCHEMA, isNotStored, USER_SCHEMA } from "./scim-schema.ts";

test("[ours.scim.protocol] names of attributes are not case-sensitive, and clients cannot write ids and groups", () => {
  assert.equal(findAttribute(USER_SCHEMA, "USERNAME")?.name, "userName");
  assert.equal(findAttribute(GROUP_SCHEMA, "userName"), undefined);
  for (const name of ["id", "meta", "groups", "schemas"]) {
    assert.equal(findAttribute(USER_SCHEMA, name)?.mutability, "readOnly", name);
  }
});

test("an attribute is either stored or ignored", () => {
  for (const name of ["password", "phoneNumbers", "ROLES"]) {
    assert.equal(isNotStored(name), true, name);
    assert.equal(findAttribute(USER_SCHEMA, name), undefined, name);
  }
  for (const { name } of USER_SCHEMA.attributes) assert.equal(isNotStored(name), false, name);
});
