/** Single webhooks, with the test vectors of the contract. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { signWebhook } from "@countersign/protocol";
import { SdkError, verifyWebhook, type WebhookEvent } from "@countersign/sdk";
import { manualTiming } from "./support/manual-timing.ts";

interface Vectors {
  readonly secrets: readonly { readonly secret: string; readonly valid: boolean }[];
  readonly signatures: readonly {
    readonly key_hex: string;
    readonly id: string;
    readonly timestamp: number;
    readonly body: string;
    readonly signature: string;
    readonly why: string;
  }[];
  readonly headers: readonly {
    readonly header: string;
    readonly valid: boolean;
    readonly why: string;
  }[];
}

const FILE = join(import.meta.dirname, "../../../contract/vectors/signature.json");
const VECTORS = JSON.parse(readFileSync(FILE, "utf8")) as Vectors;
const [FIRST] = VECTORS.signatures;
assert.ok(FIRST !== undefined);
const SECRET = secretOf(FIRST.key_hex);
const OTHER = secretOf("00".repeat(32));

function secretOf(hex: string): string {
  return `whsec_${Buffer.from(hex, "hex").toString("base64")}`;
}

interface Sent {
  readonly id?: string;
  readonly timestamp?: number | string;
  readonly body?: string;
  readonly signature?: string;
  readonly secret?: string | readonly string[];
  readonly nowS?: number;
}

const EVENT = { ...FIRST, secret: SECRET, nowS: FIRST.timestamp };

async function verify(changes: Sent = {}): Promise<WebhookEvent> {
  const { id, timestamp, body, signature, secret, nowS } = { ...EVENT, ...changes };
  const headers = new Headers({ "webhook-id": id, "webhook-timestamp": String(timestamp) });
  if (signature !== "") headers.set("webhook-signature", signature);
  const request = new Request("https://agent.example/hook", { method: "POST", headers, body });
  return verifyWebhook(request, secret, { timing: manualTiming(nowS * 1_000) });
}

/** With a valid signature for the changed message. */
async function verifySigned(body: string, id = EVENT.id): Promise<WebhookEvent> {
  const key = Buffer.from(EVENT.key_hex, "hex");
  const bytes = new TextEncoder().encode(body);
  return verify({ id, body, signature: await signWebhook(key, id, EVENT.timestamp, bytes) });
}

test("[ours.sdk.receiver.verify] an event returns its ids and its time", async () => {
  assert.deepEqual(await verify(), {
    type: "request.resolved",
    id: "f4b96ac4-404d-4f6a-9a03-a0565edc4922",
    instanceId: "b29a43a7-1949-4b9f-9d61-b7ae66f85d31",
    requestId: "7ab8c8ec-7b2d-4fd6-9b52-752f9515eb71",
    createdAt: Date.parse("2026-09-16T12:02:00Z"),
  });
});

test("[ours.sdk.receiver.verify] a verification returns a response with the challenge", async () => {
  const body = JSON.stringify({
    id: EVENT.id,
    type: "webhook.verification",
    registration_id: "b29a43a7-1949-4b9f-9d61-b7ae66f85d32",
    instance_id: "b29a43a7-1949-4b9f-9d61-b7ae66f85d31",
    created_at: "2026-09-16T12:02:00Z",
    challenge: "7AB8C8EC-7b2d-4fd6-9b52-752f9515eb71",
  });
  const event = await verifySigned(body);
  assert.ok(event.type === "webhook.verification");
  assert.equal(event.registrationId, "b29a43a7-1949-4b9f-9d61-b7ae66f85d32");
  assert.equal(event.instanceId, "b29a43a7-1949-4b9f-9d61-b7ae66f85d31");
  assert.equal(event.response.status, 200);
  assert.deepEqual(await event.response.json(), {
    challenge: "7AB8C8EC-7b2d-4fd6-9b52-752f9515eb71",
  });
});

/** @returns the code of the rejection, or undefined */
async function codeOf(verified: Promise<WebhookEvent>): Promise<string | undefined> {
  try {
    await verified;
    return undefined;
  } catch (error) {
    assert.ok(error instanceof SdkError, String(error));
    return error.code;
  }
}

test("[ours.sdk.receiver.verify] every signature of the vectors is valid for its key alone", async () => {
  let count = 0;
  for (const vector of VECTORS.signatures) {
    // Secrets of the contract have 32 bytes.
    if (vector.key_hex.length !== 64) continue;
    count++;
    const sent = { ...vector, nowS: vector.timestamp };
    const code = await codeOf(verify({ ...sent, secret: secretOf(vector.key_hex) }));
    // Some bodies violate the contract, but their signatures are valid.
    assert.ok(code === undefined || code === "invalid_webhook", `${vector.why}: ${code}`);
    const other = secretOf("5a".repeat(32));
    assert.equal(await codeOf(verify({ ...sent, secret: other })), "invalid_signature", vector.why);
  }
  assert.ok(count > 10, String(count));
});

test("[ours.sdk.receiver.verify] headers and secrets are valid as in the vectors", async () => {
  for (const { header, valid, why } of VECTORS.headers) {
    const code = await codeOf(verify({ signature: header }));
    if (valid) assert.equal(code, undefined, why);
    else assert.match(String(code), /^invalid_(signature|webhook)$/, why);
  }
  for (const { secret, valid } of VECTORS.secrets) {
    const code = await codeOf(verify({ secret }));
    if (!valid) assert.equal(code, "invalid_option", secret);
    else assert.notEqual(code, "invalid_option", secret);
  }
});

test("[ours.sdk.receiver.verify] any of several secrets verifies an event", async () => {
  for (const secret of [
    [OTHER, SECRET],
    [SECRET, OTHER],
  ]) {
    assert.equal((await verify({ secret })).type, "request.resolved");
  }
  await assert.rejects(verify({ secret: [OTHER] }), { code: "invalid_signature" });
  await assert.rejects(verify({ secret: [] }), { code: "invalid_option" });
  await assert.rejects(verify({ secret: [SECRET, "whsec_"] }), { code: "invalid_option" });
});

test("[ours.sdk.receiver.verify] a timestamp more than 300 s away is rejected with the difference", async () => {
  for (const differenceS of [300, -300]) await verify({ nowS: EVENT.nowS + differenceS });
  await assert.rejects(verify({ nowS: EVENT.nowS + 412 }), {
    code: "invalid_timestamp",
    message: /signed 412 s before the time of this machine\. The limit is 300 s\./,
  });
  await assert.rejects(verify({ nowS: EVENT.nowS - 301 }), {
    code: "invalid_timestamp",
    message: /signed 301 s after the time of this machine/,
  });
  // A signature that does not match proves nothing about a clock.
  const forged = verify({ nowS: EVENT.nowS + 412, secret: OTHER });
  await assert.rejects(forged, { code: "invalid_signature" });
});

test("[ours.sdk.receiver.verify] a malformed message is rejected with the field", async () => {
  const event = JSON.parse(EVENT.body) as Record<string, unknown>;
  const signed = (changes: object) => verifySigned(JSON.stringify({ ...event, ...changes }));
  const cases: [() => Promise<WebhookEvent>, RegExp][] = [
    [() => signed({ type: "other" }), /Field: type\./],
    [() => signed({ request_id: "x" }), /Field: request_id\./],
    [() => signed({ extra: 1 }), /extra/],
    [() => signed({ id: event.request_id }), /header webhook-id\. Field: id\./],
    [() => verifySigned("{"), /violates the contract/],
    [
      () => verify({ timestamp: "soon" }),
      /headers webhook-id, webhook-timestamp or webhook-signature/,
    ],
    [() => verify({ signature: "" }), /headers webhook-id, webhook-timestamp or webhook-signature/],
    [() => verify({ body: " ".repeat(16_385) }), /larger than 16384 bytes/],
  ];
  for (const [verified, message] of cases) {
    await assert.rejects(verified(), { code: "invalid_webhook", message });
  }
  const get = verifyWebhook(new Request("https://agent.example/"), SECRET);
  await assert.rejects(get, { code: "invalid_webhook", message: /POST, not GET/ });
});

test("[ours.sdk.receiver.verify] a body that was read returns invalid_call", async () => {
  const request = new Request("https://agent.example/", { method: "POST", body: "{}" });
  await request.text();
  await assert.rejects(verifyWebhook(request, SECRET), { code: "invalid_call" });
});

test("[ours.sdk.receiver.verify] no error contains the secret", async () => {
  const secret = `${SECRET}x`;
  await assert.rejects(verify({ secret }), (error) => !String(error).includes(SECRET));
});

test("[ours.sdk.receiver.verify] the tolerance of five minutes is exact, also within a second", async () => {
  const limits: [number, string | undefined][] = [
    [300, undefined],
    [300.001, "invalid_timestamp"],
    [-300, undefined],
    [-300.001, "invalid_timestamp"],
  ];
  for (const [s, code] of limits) {
    assert.equal(await codeOf(verify({ nowS: EVENT.timestamp + s })), code, String(s));
  }
});
