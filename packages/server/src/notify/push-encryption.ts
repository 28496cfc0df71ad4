/**
 * Encrypts a message end to end for one browser and signs the sender's proof.
 *
 * @see RFC 8291 (encryption for Web Push), RFC 8188 (aes128gcm), RFC 8292 (VAPID)
 */

import { createCipheriv, createECDH, createPrivateKey, hkdfSync, sign } from "node:crypto";
import type { PushTarget, VapidKey } from "../core/push.ts";

/** One record contains the message. Push services accept at most this size. */
const RECORD_BYTES = 4_096;

const TAG_BYTES = 16;

/** Push services accept 4,096 bytes including header and tag. */
export const PLAINTEXT_BYTES_MAX = 3_900;

/** Random values of one message. Only tests set them. */
export interface PushRandomness {
  /** 16 bytes. */
  readonly salt: Uint8Array;
  /** Private key of the sender for this message, 32 bytes; generated when undefined. */
  readonly privateKey?: Uint8Array;
}

/** @throws when the browser's key is not a point on the curve */
export function encryptPush(
  plaintext: string,
  { p256dh, auth }: Pick<PushTarget, "p256dh" | "auth">,
  { salt, privateKey }: PushRandomness,
): Buffer {
  const text = Buffer.from(plaintext);
  if (text.length > PLAINTEXT_BYTES_MAX) throw new Error("a push message is too long");
  const sender = createECDH("prime256v1");
  if (privateKey === undefined) sender.generateKeys();
  else sender.setPrivateKey(privateKey);
  const [receiverKey, senderKey] = [Buffer.from(p256dh, "base64url"), sender.getPublicKey()];
  const shared = sender.computeSecret(receiverKey);
  const keyInfo = Buffer.concat([Buffer.from("WebPush: info\0"), receiverKey, senderKey]);
  const input = derive(shared, Buffer.from(auth, "base64url"), keyInfo, 32);
  const key = derive(input, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = derive(input, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
  const cipher = createCipheriv("aes-128-gcm", key, nonce, { authTagLength: TAG_BYTES });
  // The padding delimiter 2 marks the last record.
  const encrypted = [cipher.update(Buffer.concat([text, Buffer.of(2)])), cipher.final()];
  return Buffer.concat([header(salt, senderKey), ...encrypted, cipher.getAuthTag()]);
}

function derive(input: Uint8Array, salt: Uint8Array, info: Uint8Array, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", input, salt, info, bytes));
}

function header(salt: Uint8Array, senderKey: Buffer): Buffer {
  const size = Buffer.alloc(5);
  size.writeUInt32BE(RECORD_BYTES);
  size.writeUInt8(senderKey.length, 4);
  return Buffer.concat([salt, size, senderKey]);
}

/** Validity of a proof. Push services accept at most one day. */
const PROOF_S = 12 * 3_600;

export interface PushProof {
  /** Origin of the push service. */
  readonly audience: string;
  /** A URL or `mailto:` with which the operator of the push service can contact us. */
  readonly subject: string;
  /** Epoch ms. */
  readonly now: number;
}

/** The header `Authorization`. */
export function vapidHeader(
  { publicKey, privateKey }: VapidKey,
  { audience, subject, now }: PushProof,
): string {
  const point = Buffer.from(publicKey, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)];
  const jwk = {
    kty: "EC",
    crv: "P-256",
    d: privateKey,
    x: x.toString("base64url"),
    y: y.toString("base64url"),
  };
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const exp = Math.floor(now / 1000) + PROOF_S;
  const head = encoded({ typ: "JWT", alg: "ES256" });
  const claims = encoded({ aud: audience, exp, sub: subject });
  const signed = `${head}.${claims}`;
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `vapid t=${signed}.${signature.toString("base64url")}, k=${publicKey}`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
