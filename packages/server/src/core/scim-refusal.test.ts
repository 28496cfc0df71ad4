import assert from "node:assert/strict";
import { test } from "node:test";
import { ScimRefusal, scimError } from "./scim-refusal.ts";

test("[ours.scim.protocol] an error has its status as a string, the code and the fault", () => {
  assert.equal(new ScimRefusal("uniqueness", "It exists.").status, 409);
  assert.equal(new ScimRefusal("invalidPath", "No.").status, 400);
  assert.deepEqual(scimError(409, "It exists.", "uniqueness"), {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: "409",
    scimType: "uniqueness",
    detail: "It exists.",
  });
});
