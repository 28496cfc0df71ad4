/**
 * A certificate for localhost or another name that a test needs, made only with node:crypto.
 *
 * @see RFC 5280 section 4.1
 */

import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { parseAddress } from "../../src/core/address.ts";

export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c, time: 0x17 };
const SEQUENCE = 0x30;
const SET = 0x31;

const COMMON_NAME = Buffer.from("550403", "hex");
const SUBJECT_ALT_NAME = Buffer.from("551d11", "hex");
const ECDSA_WITH_SHA256 = Buffer.from("2a8648ce3d040302", "hex");

const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;

export interface Subjects {
  /** The first one is also the common name. */
  readonly names?: readonly string[];
  readonly addresses?: readonly string[];
}

/** Valid from 2020 to 2049; without subjects, for the name localhost and its IPv4 address. */
export function createSelfSigned({
  names = ["localhost"],
  addresses = ["127.0.0.1"],
}: Subjects = {}): KeyAndCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const algorithm = der(SEQUENCE, der(TAG.oid, ECDSA_WITH_SHA256));
  const commonName = [der(TAG.oid, COMMON_NAME), der(TAG.utf8, Buffer.from(names[0] ?? ""))];
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, ...commonName)));
  const validity = [time("200101000000Z"), time("491231235959Z")];
  const subjects = [
    ...names.map((each) => der(DNS_NAME, Buffer.from(each))),
    ...addresses.map((each) => der(IP_ADDRESS, parseAddress(each) ?? Buffer.of())),
  ];
  const altNames = [der(TAG.oid, SUBJECT_ALT_NAME), der(TAG.octets, der(SEQUENCE, ...subjects))];
  const body = der(
    SEQUENCE,
    der(VERSION, der(TAG.integer, Buffer.of(2))),
    der(TAG.integer, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    algorithm,
    name,
    der(SEQUENCE, ...validity),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(EXTENSIONS, der(SEQUENCE, der(SEQUENCE, ...altNames))),
  );
  const signature = der(TAG.bits, Buffer.of(0), sign("sha256", body, privateKey));
  const certificate = der(SEQUENCE, body, algorithm, signature);
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    certificate: toPem(certificate),
  };
}

function time(text: string): Buffer {
  return der(TAG.time, Buffer.from(text));
}

/** One element: tag, length in the shortest form, content. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8];
  if (length >= 0x100) head.push(length & 0xff);
  return Buffer.concat([Buffer.of(tag, ...head), content]);
}

function toPem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
