/**
 * A certificate authority of the kit's own, and what it issues to receivers: providers send to
 * HTTPS alone, and the machine of a test has no certificate that the world trusts.
 *
 * The profile is what strict verifiers ask for: key identifiers, key usages, basic constraints.
 *
 * @see RFC 5280 section 4
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { isIP } from "node:net";
import { wallClock } from "../clock.ts";
import { bits, element, integer, octets, oid, sequence, set, TRUE, utcTime, utf8 } from "./der.ts";

/** PEM both; the key is a secret. */
export interface CertificateAuthority {
  readonly certificate: string;
  readonly key: string;
}

/** PEM both; the chain ends at the authority. */
export interface Issued {
  readonly certificate: string;
  readonly key: string;
}

const OID = {
  commonName: "550403",
  ecdsaWithSha256: "2a8648ce3d040302",
  subjectKeyId: "551d0e",
  keyUsage: "551d0f",
  subjectAltName: "551d11",
  basicConstraints: "551d13",
  authorityKeyId: "551d23",
  extendedKeyUsage: "551d25",
  serverAuth: "2b06010505070301",
} as const;

const DAY_MS = 24 * 3_600_000;
const AUTHORITY_DAYS = 3_650;
const ISSUED_DAYS = 90;

const AUTHORITY_NAME = "Countersign conformance kit";

/** A new authority. Trust in its certificate includes all that its key issues. */
export function createAuthority(): CertificateAuthority {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const certificate = certify({
    subject: AUTHORITY_NAME,
    publicKey,
    signer: privateKey,
    days: AUTHORITY_DAYS,
    extensions: [
      extension(OID.basicConstraints, sequence(TRUE), true),
      // Signing of certificates and of their revocation.
      extension(OID.keyUsage, bits(Buffer.of(0x06), 1), true),
      extension(OID.subjectKeyId, octets(keyId(publicKey)), false),
    ],
  });
  return { certificate, key: toPem(privateKey) };
}

/**
 * A certificate for one host.
 *
 * @param host a name, or an address without brackets
 */
export function issue(authority: CertificateAuthority, host: string): Issued {
  const signer = createPrivateKey(authority.key);
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const issuerKeyId = element(0x80, keyId(createPublicKey(signer)));
  const certificate = certify({
    subject: host,
    publicKey,
    signer,
    days: ISSUED_DAYS,
    extensions: [
      extension(OID.basicConstraints, sequence(), true),
      extension(OID.keyUsage, bits(Buffer.of(0x80), 7), true),
      extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth)), false),
      extension(OID.subjectKeyId, octets(keyId(publicKey)), false),
      extension(OID.authorityKeyId, sequence(issuerKeyId), false),
      extension(OID.subjectAltName, sequence(generalName(host)), false),
    ],
  });
  return { certificate, key: toPem(privateKey) };
}

/** Whether certificate and key belong together, and the certificate has not expired. */
export function isUsable({ certificate, key }: CertificateAuthority): boolean {
  const parsed = new X509Certificate(certificate);
  return parsed.checkPrivateKey(createPrivateKey(key)) && Date.parse(parsed.validTo) > wallClock();
}

interface Order {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly days: number;
  readonly extensions: readonly Buffer[];
}

function certify({ subject, publicKey, signer, days, extensions }: Order): string {
  const now = wallClock();
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const body = sequence(
    element(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
    algorithm,
    name(AUTHORITY_NAME),
    // A day earlier: the clocks of two machines differ.
    sequence(utcTime(now - DAY_MS), utcTime(now + days * DAY_MS)),
    name(subject),
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(...extensions)),
  );
  const signature = bits(sign("sha256", body, signer));
  const encoded = sequence(body, algorithm, signature).toString("base64");
  const lines = encoded.match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

function name(commonName: string): Buffer {
  // A common name has at most 64 characters. Verifiers check the subject alternative name.
  const text = utf8(commonName.slice(0, 64));
  return sequence(set(sequence(oid(OID.commonName), text)));
}

function extension(id: string, content: Buffer, isCritical: boolean): Buffer {
  return sequence(oid(id), ...(isCritical ? [TRUE] : []), octets(content));
}

function keyId(key: KeyObject): Buffer {
  const spki = key.export({ type: "spki", format: "der" });
  return createHash("sha1").update(spki).digest();
}

function generalName(host: string): Buffer {
  if (isIP(host) === 0) return element(0x82, Buffer.from(host));
  if (isIP(host) === 4) return element(0x87, Buffer.from(host.split(".").map(Number)));
  return element(0x87, ipv6Bytes(host));
}

function ipv6Bytes(address: string): Buffer {
  const canonical = new URL(`https://[${address}]/`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const groups = (text: string) => text.split(":").filter((group) => group !== "");
  const [before, after] = [groups(head), groups(tail ?? "")];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  const all = [...before, ...zeros, ...after];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}

function toPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
