/**
 * P-256 keys of Web Push: the server's pair, and those of browsers.
 *
 * @see RFC 8292 section 2, RFC 8291 section 3
 */

import { createECDH } from "node:crypto";

const CURVE = "prime256v1";
const PRIVATE_BYTES = 32;
const POINT_BYTES = 65;
const AUTH_BYTES = 16;

export function createVapidKey(): { readonly publicKey: string; readonly privateKey: string } {
  const pair = createECDH(CURVE);
  const publicKey = pair.generateKeys("base64url");
  const secret = pair.getPrivateKey();
  // Node omits leading zeros.
  const privateKey = Buffer.concat([Buffer.alloc(PRIVATE_BYTES - secret.length), secret]);
  return { publicKey, privateKey: privateKey.toString("base64url") };
}

/** True for a valid public key for encryption. */
export function isPushPoint(text: string): boolean {
  const point = bytesOf(text, POINT_BYTES);
  if (point === undefined) return false;
  const pair = createECDH(CURVE);
  pair.generateKeys();
  try {
    return pair.computeSecret(point).length > 0;
  } catch {
    return false;
  }
}

export function isPushSecret(text: string): boolean {
  return bytesOf(text, AUTH_BYTES) !== undefined;
}

function bytesOf(text: string, count: number): Buffer | undefined {
  if (!/^[A-Za-z0-9_-]+=*$/.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64url");
  return bytes.length === count ? bytes : undefined;
}
