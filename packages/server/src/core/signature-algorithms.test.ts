import assert from "node:assert/strict";
import { test } from "node:test";
import { SIGNATURE_ALGORITHMS } from "./signature-algorithms.ts";

test("[ours.workload.token] [ours.oidc.back-channel-logout] a signature needs a key pair", () => {
  for (const name of SIGNATURE_ALGORITHMS) assert.match(name, /^(RS|PS|ES|Ed)/);
});
