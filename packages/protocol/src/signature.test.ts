import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac, randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { readSignatureTable } from "../test/support/vectors.ts";
import { parseSigningSecret, signWebhook, WEBHOOK_HEADERS } from "./signature.ts";

const { secrets, signatures, headers } = readSignatureTable();
const utf8 = new TextEncoder();

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}

/** Verifies as a receiver without our code; its clock shows the timestamp. */
function receive(
  t: TestContext,
  key: Uint8Array | string,
  message: { id: string; timestamp: number; body: string; signature: string },
): void {
  t.mock.timers.enable({ apis: ["Date"], now: message.timestamp * 1000 });
  try {
    const sent = {
      [WEBHOOK_HEADERS.id]: message.id,
      [WEBHOOK_HEADERS.timestamp]: String(message.timestamp),
      [WEBHOOK_HEADERS.signature]: message.signature,
    };
    const receiver =
      typeof key === "string" ? new Webhook(key) : new Webhook(key, { format: "raw" });
    receiver.verify(message.body, sent, { jsonParse: false });
  } finally {
    t.mock.timers.reset();
  }
}

test("[signature.value] every signature of the vectors is computed, and verified by Standard Webhooks", async (t) => {
  assert.ok(signatures.length > 20, `${signatures.length} vectors`);
  for (const { key_hex, id, timestamp, body, signature, why } of signatures) {
    const key = fromHex(key_hex);
    assert.equal(await signWebhook(key, id, timestamp, utf8.encode(body)), signature, why);
    receive(t, key, { id, timestamp, body, signature });
  }
});

test("[signature.value] the signature is that of one known event under one known secret", async (t) => {
  const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
  const id = "f4b96ac4-404d-4f6a-9a03-a0565edc4922";
  const timestamp = 1_789_560_121;
  const event = {
    id,
    type: "request.resolved",
    instance_id: "b29a43a7-1949-4b9f-9d61-b7ae66f85d31",
    request_id: "7ab8c8ec-7b2d-4fd6-9b52-752f9515eb71",
    created_at: "2026-09-16T12:02:00Z",
  };
  const body = JSON.stringify(event, null, 2);
  const key = parseSigningSecret(secret) ?? new Uint8Array();
  const signature = await signWebhook(key, id, timestamp, utf8.encode(body));
  assert.equal(signature, "v1,zgT2qt+QiEEonu9tmZqEuKzoa83SGE9ZcCgUHzqSPZ8=");
  receive(t, secret, { id, timestamp, body, signature });
});

test("the Standard Webhooks library accepts only the valid headers of the vectors", (t) => {
  const [first] = signatures;
  assert.ok(first !== undefined && headers.length > 20);
  for (const { header, valid, why } of headers) {
    const attempt = () => {
      receive(t, fromHex(first.key_hex), { ...first, signature: header });
    };
    if (valid) assert.doesNotThrow(attempt, why);
    else assert.throws(attempt, WebhookVerificationError, why);
  }
});

test("[signature.value] the bytes of the body are signed whatever they are, text or not", async () => {
  const property = fc.asyncProperty(
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
    fc.uuid(),
    fc.nat(2 ** 40),
    fc.uint8Array({ maxLength: 2_000 }),
    async (key, id, timestamp, body) => {
      const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body);
      const expected = `v1,${digest.digest("base64")}`;
      assert.equal(await signWebhook(key, id, timestamp, body), expected);
      // A part of a greater buffer is signed as that part alone.
      const within = Buffer.concat([randomBytes(3), body, randomBytes(3)]).subarray(3, -3);
      assert.equal(await signWebhook(key, id, timestamp, within), expected);
    },
  );
  await fc.assert(property);
});

test("a timestamp that is not a whole number of seconds throws a RangeError", async () => {
  const [key, body] = [new Uint8Array(32), new Uint8Array()];
  for (const wrong of [1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    await assert.rejects(signWebhook(key, "id", wrong, body), RangeError, String(wrong));
  }
});

test("[delivery.input.secret] every secret of the vectors is accepted or rejected as stated", () => {
  assert.ok(secrets.length > 50, `${secrets.length} vectors`);
  for (const { secret, valid, key_hex = "", why } of secrets) {
    const key = parseSigningSecret(secret);
    const shown = `${JSON.stringify(secret)}: ${why}`;
    assert.deepEqual(key, valid ? fromHex(key_hex) : undefined, shown);
    assert.ok(!valid || key?.length === 32, shown);
  }
});

test("[delivery.input.secret] every 32 bytes have exactly one spelling as a secret", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\n é";
  const property = fc.property(
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    fc.nat(48),
    (bytes, at) => {
      const secret = `whsec_${Buffer.from(bytes).toString("base64")}`;
      assert.deepEqual(parseSigningSecret(secret), Uint8Array.from(bytes));
      for (const other of alphabet) {
        const changed = secret.slice(0, at) + other + secret.slice(at + 1);
        if (changed === secret) continue;
        assert.notDeepEqual(parseSigningSecret(changed), Uint8Array.from(bytes), changed);
        const longer = secret.slice(0, at) + other + secret.slice(at);
        assert.equal(parseSigningSecret(longer), undefined, longer);
      }
      assert.equal(parseSigningSecret(secret.slice(0, at) + secret.slice(at + 1)), undefined);
    },
  );
  fc.assert(property, { numRuns: 50 });
});

test("[delivery.input.secret] a secret of another length is rejected", () => {
  const property = fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
    const secret = `whsec_${Buffer.from(bytes).toString("base64")}`;
    assert.equal(parseSigningSecret(secret) !== undefined, bytes.length === 32);
  });
  fc.assert(property);
});

test("the headers of a webhook are the contract's", () => {
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  assert.deepEqual(Object.values(WEBHOOK_HEADERS), names);
});
