import assert from "node:assert/strict";
import { test } from "node:test";
import { stateOf } from "./grant.ts";

const GRANT = {
  id: "g",
  projectId: "p",
  instanceId: "i",
  reviewerId: "r",
  createdAt: 0,
  expiresAt: 100,
  callsMax: 2,
  calls: 0,
  revokedAt: null,
  revokedBy: null,
};

test("a grant is active until it is revoked, used up or at its end", () => {
  assert.equal(stateOf(GRANT, 0), "active");
  assert.equal(stateOf({ ...GRANT, calls: 1 }, 99), "active");
  assert.equal(stateOf(GRANT, 100), "expired");
  assert.equal(stateOf({ ...GRANT, calls: 2 }, 0), "exhausted");
  assert.equal(stateOf({ ...GRANT, revokedAt: 5 }, 5), "revoked");
});
