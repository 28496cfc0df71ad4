import assert from "node:assert/strict";
import test from "node:test";
import { AccessRefusal, refusalUri } from "./access-refusal.ts";

test("[ours.authzen.request] a refusal has the URI and the status of the profile", () => {
  const { type, status, message } = new AccessRefusal("expired_denial");
  assert.equal(refusalUri(type), "urn:openid:authzen:access-request:error:expired_denial");
  assert.equal(status, 410);
  assert.match(message, /Evaluate the call again\.$/);
});
