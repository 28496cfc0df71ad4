import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import {
  ALGORITHMS,
  type Algorithm,
  Authenticator,
  type Bent,
} from "../../test/support/authenticator.ts";
import { type PasskeyProof, verdictChallenge, verifyProof } from "./passkey-proof.ts";

const ORIGIN = "https://approve.example.com";
const REQUEST_ID = "0198c0de-0000-7000-8000-000000000001";
const SHA = "ab".repeat(32);
const NOTE_SHA = "cd".repeat(32);

interface Entry {
  readonly arguments_sha256: string;
  readonly note_sha256: string | null;
  readonly validity_ms: number | null;
  readonly passkey: PasskeyProof;
}

/** The log entry of an approval that was signed with these parameters. */
function entryOf(algorithm: Algorithm, bent: Bent = {}): Entry {
  const authenticator = new Authenticator(ORIGIN, algorithm);
  const signed = {
    nonce: "bm9uY2U",
    requestId: REQUEST_ID,
    argumentsSha256: SHA,
    verdict: "approve",
    noteSha256: NOTE_SHA,
    validForMs: 300_000,
  } as const;
  const { response } = authenticator.get(verdictChallenge(signed), bent);
  const said = { arguments_sha256: SHA, note_sha256: NOTE_SHA };
  return {
    ...said,
    validity_ms: 300_000,
    passkey: {
      ...said,
      credential_id: authenticator.id,
      public_key: authenticator.publicKey,
      client_data: String(response.clientDataJSON),
      authenticator_data: String(response.authenticatorData),
      signature: String(response.signature),
      nonce: signed.nonce,
      verdict: "approve",
      valid_for_ms: 300_000,
    },
  };
}

function faultOf(detail: object, requestId = REQUEST_ID): string {
  const finding = verifyProof(detail as Record<string, unknown>, requestId);
  return finding.kind === "refuted" ? finding.fault : "";
}

test("[ours.passkey.challenge] the challenge is the hash of a reproducible JSON array", () => {
  const json = `["countersign verdict v1","n","r","${SHA}","approve",null,1000]`;
  assert.equal(
    verdictChallenge({
      nonce: "n",
      requestId: "r",
      argumentsSha256: SHA,
      verdict: "approve",
      noteSha256: null,
      validForMs: 1_000,
    }),
    createHash("sha256").update(json).digest("base64url"),
  );
});

for (const algorithm of ALGORITHMS) {
  test(`[ours.passkey.proof] an approval that was signed with ${algorithm} is proven by its entry alone`, () => {
    const entry = entryOf(algorithm);
    assert.deepEqual(verifyProof({ ...entry }, REQUEST_ID), {
      kind: "proven",
      credentialId: entry.passkey.credential_id,
      publicKey: entry.passkey.public_key,
      origin: ORIGIN,
    });
  });

  test(`[ours.passkey.proof] with ${algorithm} no byte of key, signature or what was signed can be another`, () => {
    const entry = entryOf(algorithm);
    const names = ["public_key", "client_data", "authenticator_data", "signature"] as const;
    for (const name of names) {
      const source = Buffer.from(entry.passkey[name], "base64url");
      for (let at = 0; at < source.length; at++) {
        const altered = Buffer.from(source);
        altered[at] = (altered[at] ?? 0) ^ 0x01;
        const passkey = { ...entry.passkey, [name]: altered.toString("base64url") };
        assert.notEqual(faultOf({ ...entry, passkey }), "", `${name}, byte ${at}`);
      }
      for (const end of [source.subarray(1), source.subarray(0, -1), Buffer.alloc(0)]) {
        const passkey = { ...entry.passkey, [name]: end.toString("base64url") };
        assert.notEqual(faultOf({ ...entry, passkey }), "", `${name}, ${end.length} bytes`);
      }
    }
  });
}

test("[ours.passkey.proof] another request, nonce, note or validity was not signed", () => {
  const entry = entryOf("ES256");
  const other = "0198c0de-0000-7000-8000-000000000002";
  assert.match(faultOf(entry, other), /signed another request, nonce, verdict, note or validity/);
  const withNonce = { ...entry, passkey: { ...entry.passkey, nonce: "b3RoZXI" } };
  assert.match(faultOf(withNonce), /signed another request/);
  // Changed in the entry and in its proof alike, so that they agree with each other.
  const both = (said: Partial<PasskeyProof>, entryToo: object) => {
    return { ...entry, ...entryToo, passkey: { ...entry.passkey, ...said } };
  };
  const digest = { arguments_sha256: "ef".repeat(32) };
  assert.match(faultOf(both(digest, digest)), /signed another request/);
  for (const note_sha256 of [null, "ef".repeat(32)]) {
    assert.match(faultOf(both({ note_sha256 }, { note_sha256 })), /signed another request/);
  }
  for (const valid_for_ms of [null, 300_001]) {
    const altered = both({ valid_for_ms }, { validity_ms: valid_for_ms });
    assert.match(faultOf(altered), /signed another request/);
  }
});

test("[ours.passkey.proof] an entry that says something else than its proof is refuted", () => {
  const entry = entryOf("ES256");
  const digest = "ef".repeat(32);
  assert.match(faultOf({ ...entry, arguments_sha256: digest }), /^arguments_sha256 of the entry/);
  assert.match(faultOf({ ...entry, note_sha256: digest }), /^note_sha256 of the entry/);
  assert.match(faultOf({ ...entry, note_sha256: undefined }), /^note_sha256 of the entry/);
  assert.match(faultOf({ ...entry, validity_ms: 1 }), /^validity_ms of the entry/);
  assert.match(faultOf({ ...entry, status: "denied" }), /the entry does not/);
  assert.equal(faultOf({ ...entry, status: "approved" }), "");
});

const BENT: readonly (readonly [Bent, RegExp])[] = [
  [{ flags: 0x01 }, /user was not verified/],
  [{ flags: 0x04 }, /the user was not present/],
  [{ flags: 0x45 }, /not belong to an assertion/],
  [{ flags: 0x85 }, /not belong to an assertion/],
  [{ rpId: "example.com" }, /belongs to another host/],
  [{ origin: "https://evil.example" }, /belongs to another host/],
  [{ origin: "nowhere" }, /no origin/],
  [{ type: "webauthn.create" }, /not belong to an assertion/],
  [{ crossOrigin: true }, /a page of another origin/],
];

test("[ours.passkey.verified] [ours.passkey.proof] a signature of another site, or without a verified user, proves nothing", () => {
  for (const [bent, fault] of BENT) assert.match(faultOf(entryOf("ES256", bent)), fault);
});

test("[ours.passkey.proof] a value that is not a proof is reported and never throws", () => {
  const entry = entryOf("ES256");
  assert.match(faultOf({}), /no member passkey/);
  assert.match(faultOf({ passkey: [] }), /no member passkey/);
  for (const name of Object.keys(entry.passkey)) {
    for (const value of [undefined, 1.5, "", "ä", [], {}]) {
      const passkey = { ...entry.passkey, [name]: value };
      assert.notEqual(faultOf({ ...entry, passkey }), "", `${name} ${JSON.stringify(value)}`);
    }
  }
  const padded = { ...entry.passkey, signature: `${entry.passkey.signature}=` };
  assert.match(faultOf({ ...entry, passkey: padded }), /signature is not base64url/);
});

test("[ours.passkey.algorithms] a key of another kind or size is rejected", () => {
  const entry = entryOf("ES256");
  const key = Buffer.from(entry.passkey.public_key, "base64url");
  const withKey = (source: Buffer) => {
    return { ...entry, passkey: { ...entry.passkey, public_key: source.toString("base64url") } };
  };
  const followed = Buffer.concat([key, Buffer.from([0])]);
  assert.match(faultOf(withKey(followed)), /the public key has trailing bytes/);
  const short = Buffer.from("a40103033901002043010001214101", "hex");
  assert.match(faultOf(withKey(short)), /too short for RS256/);
  // ECDSA with P-384 and SHA-384.
  const other = Buffer.from(key);
  other[4] = 0x38;
  assert.match(faultOf(withKey(other)), /public key/);
});
