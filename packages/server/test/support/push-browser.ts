/**
 * A browser as a push service knows it: it subscribes, and reads what no other party can. Written
 * from RFC 8291, for the other side of notify/push-encryption.ts.
 */

import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";

export interface PushMessage {
  readonly type: string;
  readonly tag: string;
  readonly path: string;
  readonly silent: boolean;
  readonly request_id?: string;
  readonly tool?: string;
  readonly instance_name?: string;
  readonly deadline_at?: string;
  readonly status?: string;
}

export class PushBrowser {
  readonly #pair = createECDH("prime256v1");
  readonly #auth = randomBytes(16);
  readonly endpoint: string;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
    this.#pair.generateKeys();
  }

  /** As `PushSubscription.toJSON()`. */
  toJSON(): object {
    const keys = {
      p256dh: this.#pair.getPublicKey("base64url"),
      auth: this.#auth.toString("base64url"),
    };
    return { endpoint: this.endpoint, expirationTime: null, keys };
  }

  /** @throws when it is not for this browser */
  read(body: Buffer): PushMessage {
    const salt = body.subarray(0, 16);
    const senderKey = body.subarray(21, 21 + body.readUInt8(20));
    const sealed = body.subarray(21 + senderKey.length);
    const shared = this.#pair.computeSecret(senderKey);
    const own = this.#pair.getPublicKey();
    const info = Buffer.concat([Buffer.from("WebPush: info\0"), own, senderKey]);
    const input = Buffer.from(hkdfSync("sha256", shared, this.#auth, info, 32));
    const derive = (what: string, bytes: number) =>
      Buffer.from(hkdfSync("sha256", input, salt, `Content-Encoding: ${what}\0`, bytes));
    const decipher = createDecipheriv("aes-128-gcm", derive("aes128gcm", 16), derive("nonce", 12));
    decipher.setAuthTag(sealed.subarray(-16));
    const text = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
    return JSON.parse(text.subarray(0, text.lastIndexOf(2)).toString()) as PushMessage;
  }
}
