/** Workload identity with replicas on one PostgreSQL. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startReplicas } from "./support/replicas.ts";
import { submitBody } from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import {
  AUDIENCE,
  exchangeToken,
  startIssuer,
  writeWorkloadFile,
} from "./support/workload-issuer.ts";

test("[ours.workload.instance] [ours.workload.revoked] replicas create one instance for concurrent exchanges, and its deletion ends the credentials on all of them", async (t) => {
  const issuer = await startIssuer(t);
  const file = writeWorkloadFile(t, {
    issuers: [{ name: "platform", issuer: issuer.url, audience: AUDIENCE }],
    rules: [{ name: "ci", issuer: "platform", claims: { sub: "agent-1" }, instance: "{sub}" }],
  });
  const settings = { workload_identity: file, unauthenticated_rate: "0" };
  const { servers } = await startReplicas(t, 2, undefined, { settings });
  const [one, other] = servers;
  assert.ok(one !== undefined && other !== undefined);
  const token = await issuer.sign({ sub: "agent-1" }, { now: Date.now() });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, at) => exchangeToken(at % 2 === 0 ? one : other, token)),
  );
  for (const { status, text } of answers) assert.equal(status, 200, text);
  const rows = await one.provider.context.store.all("select id from instance");
  assert.equal(rows.length, 1);
  const credentials = answers.map(({ json }) => json.access_token);
  for (const [at, credential] of credentials.entries()) {
    // Issued by the other replica.
    const server = at % 2 === 0 ? other : one;
    const answer = await submitBody(server, credential, SUBMISSION, `call-${at}`);
    assert.equal(answer.status, 201, answer.text);
  }
  const provisioner = await one.token({ kind: "provisioner" });
  const path = `/v1/instances/${rows[0]?.id}`;
  assert.equal((await one.call("DELETE", path, { token: provisioner })).status, 204);
  for (const credential of credentials) {
    assert.equal((await submitBody(other, credential, SUBMISSION)).status, 401);
  }
  assert.equal((await exchangeToken(other, token)).status, 400);
});
