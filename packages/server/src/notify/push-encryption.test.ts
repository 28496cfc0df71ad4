import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { createVapidKey, isPushPoint, isPushSecret } from "../secrets/vapid-key.ts";
import { encryptPush, vapidHeader } from "./push-encryption.ts";

/** RFC 8291, appendix A. */
const VECTOR = {
  text: "When I grow up, I want to be a watermelon",
  senderKey: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
  salt: "DGv6ra1nlYgDCS1FRnbzlw",
  message:
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS" +
    "6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qu" +
    "lcy4a-fN",
};

const bytes = (text: string) => Buffer.from(text, "base64url");

test("[ours.push.encrypted] the message of RFC 8291 is encrypted byte for byte", () => {
  const { text, senderKey, salt, message } = VECTOR;
  const chance = { salt: bytes(salt), privateKey: bytes(senderKey) };
  assert.equal(encryptPush(text, VECTOR, chance).toString("base64url"), message);
  const other = encryptPush(text, VECTOR, { salt: bytes(salt) });
  assert.notEqual(other.toString("base64url"), message);
  assert.throws(() => encryptPush("x".repeat(4_000), VECTOR, chance), /too long/);
});

test("[ours.push.encrypted] the proof is signed by the key that it names, for one push service", () => {
  const pair = createVapidKey();
  const [audience, subject] = ["https://push.example", "https://countersign.example"];
  const header = vapidHeader(pair, { audience, subject, now: 1_000_500 });
  const [, head = "", claims = "", signature = "", key = ""] =
    /^vapid t=([^.]+)\.([^.]+)\.([^,]+), k=(.+)$/.exec(header) ?? [];
  assert.equal(key, pair.publicKey);
  assert.deepEqual(JSON.parse(bytes(head).toString()), { typ: "JWT", alg: "ES256" });
  const expected = { aud: audience, exp: 1_000 + 43_200, sub: subject };
  assert.deepEqual(JSON.parse(bytes(claims).toString()), expected);
  const point = bytes(key);
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((b) => b.toString("base64url"));
  const jwk = { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" };
  const publicKey = createPublicKey({ key: jwk, format: "jwk" });
  const signed = Buffer.from(`${head}.${claims}`);
  const options = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
  assert.ok(verify("sha256", signed, options, bytes(signature)));
});

test("[ours.push.subscribed] keys of browsers are points of the curve, and secrets of 16 bytes", () => {
  assert.ok(isPushPoint(VECTOR.p256dh) && isPushPoint(createVapidKey().publicKey));
  const bent = bytes(VECTOR.p256dh);
  bent[64] = (bent[64] ?? 0) ^ 1;
  for (const text of ["", "x y", VECTOR.auth, bent.toString("base64url")]) {
    assert.ok(!isPushPoint(text), text);
  }
  assert.deepEqual([VECTOR.auth, VECTOR.p256dh, "!"].map(isPushSecret), [true, false, false]);
});
