import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { ALGORITHMS, Authenticator, type Bent } from "../../test/support/authenticator.ts";
import {
  creationOptions,
  isCounterRegressed,
  PasskeyRefused,
  relyingPartyOf,
  requestOptions,
  verifyAssertion,
  verifyCreation,
} from "./passkeys.ts";

const PARTY = relyingPartyOf("https://approve.example.com:8443/prefix");

const CHALLENGE = randomBytes(32).toString("base64url");

const OWNER = { id: "p1", login: "ana@example.com", name: "Ana" };

function authenticator(algorithm: Authenticator["algorithm"] = "ES256"): Authenticator {
  return new Authenticator(PARTY.origin, algorithm);
}

test("a passkey is for the host of the public URL and works on its origin", () => {
  assert.deepEqual(PARTY, {
    id: "approve.example.com",
    origin: "https://approve.example.com:8443",
  });
});

test("[ours.passkey.verified] a browser is asked to verify the user, in both ceremonies", async () => {
  const challenge = Buffer.from(CHALLENGE, "base64url");
  const creation = JSON.parse(await creationOptions(PARTY, OWNER, [], challenge));
  assert.equal(creation.authenticatorSelection.userVerification, "required");
  assert.equal(creation.authenticatorSelection.residentKey, "required");
  assert.equal(creation.attestation, "none");
  assert.equal(creation.challenge, CHALLENGE);
  assert.equal(creation.user.id, Buffer.from("p1").toString("base64url"));
  const known = { id: "a2V5", publicKey: "", transports: ["usb"] };
  const request = JSON.parse(await requestOptions(PARTY, [known], challenge));
  assert.equal(request.userVerification, "required");
  assert.equal(request.rpId, "approve.example.com");
  assert.equal(request.challenge, CHALLENGE);
  assert.deepEqual(request.allowCredentials, [
    { id: "a2V5", transports: ["usb"], type: "public-key" },
  ]);
});

for (const algorithm of ALGORITHMS) {
  test(`[ours.passkey.algorithms] a passkey of ${algorithm} is registered, and signs`, async () => {
    const key = authenticator(algorithm);
    const made = await verifyCreation(PARTY, { ...key.create(CHALLENGE) }, CHALLENGE);
    assert.deepEqual(made, {
      id: key.id,
      publicKey: key.publicKey,
      counter: 0,
      transports: ["internal"],
    });
    const answer = key.get(CHALLENGE);
    const assertion = await verifyAssertion(PARTY, { ...answer }, CHALLENGE, made.publicKey);
    assert.equal(assertion.credentialId, key.id);
    const { publicKey } = authenticator(algorithm);
    const outsider = verifyAssertion(PARTY, { ...answer }, CHALLENGE, publicKey);
    await assert.rejects(outsider, PasskeyRefused);
  });
}

const BENT: readonly (readonly [Bent, RegExp])[] = [
  [{ flags: 0x01 }, /verif/],
  [{ flags: 0x04 }, /present/],
  [{ rpId: "example.com" }, /RP ID/],
  [{ origin: "https://example.com" }, /origin/],
  [{ origin: "https://approve.example.com" }, /origin/],
  [{ type: "webauthn.other" }, /type/],
];

test("[ours.passkey.verified] a passkey of another site, or without a verified user, is rejected", async () => {
  const key = authenticator();
  for (const [bent, message] of BENT) {
    const refused = { name: "Error", message };
    await assert.rejects(
      verifyCreation(PARTY, { ...key.create(CHALLENGE, bent) }, CHALLENGE),
      refused,
    );
    const answer = { ...key.get(CHALLENGE, bent) };
    await assert.rejects(verifyAssertion(PARTY, answer, CHALLENGE, key.publicKey), refused);
  }
  const other = randomBytes(32).toString("base64url");
  await assert.rejects(verifyCreation(PARTY, { ...key.create(other) }, CHALLENGE), /challenge/);
  const answer = { ...key.get(other) };
  await assert.rejects(verifyAssertion(PARTY, answer, CHALLENGE, key.publicKey), /challenge/);
});

test("[ours.passkey.verified] the server rejects every malformed browser response", async () => {
  const key = authenticator();
  const good = key.get(CHALLENGE);
  const answers: Record<string, unknown>[] = [
    {},
    { ...good, id: 1 },
    { ...good, rawId: "other" },
    { ...good, type: "password" },
    { ...good, response: null },
    ...Object.keys(good.response).flatMap((name) =>
      [undefined, "", "***", 1, {}, "AAAA"].map((value) => {
        return { ...good, response: { ...good.response, [name]: value } };
      }),
    ),
  ];
  for (const answer of answers) {
    const verified = verifyAssertion(PARTY, answer, CHALLENGE, key.publicKey);
    await assert.rejects(verified, PasskeyRefused, JSON.stringify(answer));
  }
  const { response, ...rest } = key.create(CHALLENGE);
  for (const attestationObject of [undefined, "", "AAAA", 1]) {
    const answer = { ...rest, response: { ...response, attestationObject } };
    await assert.rejects(verifyCreation(PARTY, answer, CHALLENGE), PasskeyRefused);
  }
});

test("an attestation with certificates is rejected before they are parsed", async () => {
  const key = authenticator();
  const { response, ...rest } = key.create(CHALLENGE);
  const object = Buffer.from(String(response.attestationObject), "base64url").toString("latin1");
  const apple = object.replace("dnone", "eapple");
  const attestationObject = Buffer.from(apple, "latin1").toString("base64url");
  const answer = { ...rest, response: { ...response, attestationObject } };
  await assert.rejects(verifyCreation(PARTY, answer, CHALLENGE), /has an attestation/);
});

test("[ours.passkey.counter] after its first increase, a counter that does not increase is rejected", () => {
  const table: [number, number, boolean][] = [
    [0, 0, false],
    [0, 1, false],
    [1, 2, false],
    [1, 1, true],
    [2, 1, true],
    [1, 0, true],
  ];
  for (const [seen, counter, isBehind] of table) {
    assert.equal(isCounterRegressed(seen, counter), isBehind, `${seen}, then ${counter}`);
  }
});
