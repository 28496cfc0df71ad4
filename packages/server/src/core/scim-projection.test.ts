import assert from "node:assert/strict";
import { test } from "node:test";
import { project } from "./scim-projection.ts";
import { USER_SCHEMA } from "./scim-schema.ts";

const ANA = {
  schemas: ["s"],
  id: "1",
  userName: "ana",
  emails: [{ value: "a@example.com", type: "work" }],
};

function select(attributes?: readonly string[], excludedAttributes?: readonly string[]) {
  return project(USER_SCHEMA, ANA, { attributes, excludedAttributes });
}

test("[ours.scim.protocol] attributes and excludedAttributes select, and never hide the id", () => {
  const always = { schemas: ["s"], id: "1" };
  assert.deepEqual(select(), ANA);
  assert.deepEqual(select(["USERNAME"]), { ...always, userName: "ana" });
  assert.deepEqual(select([`${USER_SCHEMA.id}:userName`]), { ...always, userName: "ana" });
  assert.deepEqual(select(["emails.type"]), { ...always, emails: [{ type: "work" }] });
  assert.deepEqual(select(undefined, ["emails", "id"]), { ...always, userName: "ana" });
  assert.deepEqual(select(undefined, ["emails.type"]), {
    ...ANA,
    emails: [{ value: "a@example.com" }],
  });
});
