/**
 * People send texts; PostgreSQL accepts none with the character 0.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson } from "./support/people.ts";
import { startReplicas } from "./support/replicas.ts";
import type { TestProvider } from "./support/test-provider.ts";

const { servers } = await startReplicas({ after }, 1);
const [server] = servers as [TestProvider];

const NUL = "\0";

const RESPONSE = {
  clientDataJSON: "e30",
  authenticatorData: "e30",
  signature: "e30",
};

test("[ours.sign-in.any-text] a value that no row can hold is rejected like a value that no row holds", async () => {
  const person = await newPerson(server, { login: "ana", role: "admin" });
  const { id: instanceId, token } = await server.instance();
  const { id } = await server.submit(token);
  const answer = { id: NUL, rawId: NUL, type: "public-key", response: RESPONSE };
  const signIn = { body: { answer } };
  const signed = await callAs(server, undefined, "POST", "/session/passkey", signIn);
  assertRefused(signed, 403, "passkey_refused");
  const named = await callAs(server, person, "GET", "/requests?project=%00");
  assertRefused(named, 400, "invalid_request", "project");
  const shown = await callAs<{ arguments_sha256: string }>(
    server,
    person,
    "GET",
    `/requests/${id}`,
  );
  const passkey = { nonce: NUL, assertion: answer };
  const verdict = { verdict: "approve", arguments_sha256: shown.json.arguments_sha256, passkey };
  const path = `/requests/${id}/verdict`;
  const decided = await callAs(server, person, "POST", path, { body: verdict });
  assertRefused(decided, 403, "passkey_refused", "passkey");
  const owner = { body: { owner: NUL } };
  const owned = await callAs(server, person, "PATCH", `/instances/${instanceId}`, owner);
  assertRefused(owned, 400, "invalid_request", "owner");
  assert.equal((await server.read(token, id)).status, "pending");
});
