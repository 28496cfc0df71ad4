/**
 * Bearer credentials: `cs_inst_`, `cs_prov_`, `cs_rev_` or `cs_scim_`, 43 random base62 characters
 * (256 bits) and a checksum of 6. The checksum rejects mistyped tokens without a lookup and helps
 * secret scanners; it protects nothing. The prefix is for people: the permissions of a token are in
 * its row.
 *
 * The database stores only the SHA-256 of a token. With 256 bits of entropy, a slow hash adds
 * nothing.
 */

import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { CredentialKind } from "@countersign/protocol";
import type { Random } from "../clock.ts";

/** Kinds of credentials, of the contract and of the SCIM API. */
export type TokenKind = CredentialKind | "scim";

const PREFIXES: Readonly<Record<TokenKind, string>> = {
  instance: "cs_inst_",
  provisioner: "cs_prov_",
  reviewer: "cs_rev_",
  scim: "cs_scim_",
};

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_CHARS = 43;
const CHECKSUM_CHARS = 6;

const TOKEN = /^cs_(?:inst|prov|rev|scim)_[0-9A-Za-z]{49}$/;

export function createToken(kind: TokenKind, random: Random): string {
  const body = PREFIXES[kind] + randomBase62(SECRET_CHARS, random);
  return body + checksum(body);
}

/** True when a text has the form and checksum of a token. */
export function isWellFormedToken(text: string): boolean {
  if (!TOKEN.test(text)) return false;
  return checksum(text.slice(0, -CHECKSUM_CHARS)) === text.slice(-CHECKSUM_CHARS);
}

/** The hash that is stored and looked up. */
export function hashToken(token: string): string {
  return hash("sha256", token, "base64url");
}

function randomBase62(length: number, random: Random): string {
  let text = "";
  while (text.length < length) {
    for (const byte of random.bytes(length)) {
      // 248 is the largest multiple of 62 in a byte. Larger bytes would bias the result.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
