// Needs: openssl
/**
 * The exchange of a token with programs that others wrote: OpenSSL makes the key of the cluster and
 * signs the token, and openid-client is the OAuth client.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { allowInsecureRequests, Configuration, genericGrantRequest, None } from "openid-client";
import { startScene, submitBody } from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import { AUDIENCE, GRANT_TYPE, JWT_TYPE, writeWorkloadFile } from "./support/workload-issuer.ts";

const CLUSTER = "https://kubernetes.default.svc.cluster.local";

function encode(document: object): string {
  return Buffer.from(JSON.stringify(document)).toString("base64url");
}

/** The API server of a cluster: its key set, and tokens as in a projected volume. */
function makeCluster(t: TestContext) {
  const key = join(temporaryFolder(t), "cluster.key");
  const openssl = (args: readonly string[], input?: string) =>
    execFileSync("openssl", args, { input, stdio: ["pipe", "pipe", "ignore"] });
  openssl(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key]);
  const jwk = createPublicKey(openssl(["pkey", "-in", key, "-pubout"])).export({ format: "jwk" });
  return {
    jwks: { keys: [{ ...jwk, kid: "cluster", alg: "RS256", use: "sig" }] },
    sign(claims: object): string {
      const signed = `${encode({ alg: "RS256", kid: "cluster" })}.${encode(claims)}`;
      const signature = openssl(["dgst", "-sha256", "-sign", key], signed);
      return `${signed}.${signature.toString("base64url")}`;
    },
  };
}

test("[ours.workload.exchange] openid-client exchanges a token that OpenSSL signed, and the credential submits a call", async (t) => {
  const cluster = makeCluster(t);
  const issuer = { name: "cluster", issuer: CLUSTER, audience: AUDIENCE, jwks_file: "jwks.json" };
  const rule = {
    name: "agents",
    issuer: "cluster",
    claims: { "kubernetes.io/namespace": "agents" },
    instance: "{kubernetes.io/serviceaccount/name}",
  };
  const content = { issuers: [issuer], rules: [rule] };
  const file = writeWorkloadFile(t, content, { "jwks.json": cluster.jwks });
  const { server, clock } = await startScene(t, { settings: { workload_identity: file } });
  const iat = Math.floor(clock.now() / 1_000);
  const token = cluster.sign({
    iss: CLUSTER,
    aud: [AUDIENCE],
    sub: "system:serviceaccount:agents:deployer",
    iat,
    exp: iat + 3_600,
    jti: "c3f0",
    "kubernetes.io": { namespace: "agents", serviceaccount: { name: "deployer", uid: "9a2b" } },
  });

  const endpoint = `${server.url}/agent/v1/token`;
  const metadata = { issuer: server.url, token_endpoint: endpoint };
  const client = new Configuration(metadata, "deployer", undefined, None());
  allowInsecureRequests(client);
  const answer = await genericGrantRequest(client, GRANT_TYPE, {
    subject_token: token,
    subject_token_type: JWT_TYPE,
  });
  assert.equal(answer.token_type, "bearer");
  assert.equal(answer.expires_in, 3_600);

  const { status, json } = await submitBody(server, answer.access_token, SUBMISSION);
  assert.equal(status, 201);
  assert.equal((await server.read(answer.access_token, json.id)).status, "pending");

  const refused = genericGrantRequest(client, GRANT_TYPE, {
    subject_token: `${token}A`,
    subject_token_type: JWT_TYPE,
  });
  await assert.rejects(refused, { error: "invalid_grant" });
});
