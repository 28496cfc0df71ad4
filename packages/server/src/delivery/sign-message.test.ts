import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import { signWebhook } from "@countersign/protocol";
import fc from "fast-check";
import { signMessage } from "./sign-message.ts";

test("a message is signed as the protocol signs it", async () => {
  const key = fc.uint8Array({ minLength: 1, maxLength: 80 });
  const timestamp = fc.nat(4_102_444_800);
  const property = fc.asyncProperty(
    key,
    fc.string({ unit: "binary" }),
    timestamp,
    fc.uint8Array(),
    async (secret, id, timestampS, body) => {
      const expected = await signWebhook(secret, id, timestampS, body);
      assert.equal(signMessage(createSecretKey(secret), id, timestampS, body), expected);
    },
  );
  await fc.assert(property);
});
