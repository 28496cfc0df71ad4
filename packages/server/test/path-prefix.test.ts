import assert from "node:assert/strict";
import { after, test } from "node:test";
import { OPERATIONS, type ProvisionInstanceResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { callOperation, OPERATION_NAMES, pathOf, type Stage } from "./support/operation-calls.ts";
import { type Answer, SUBMISSION, startTestProvider } from "./support/test-provider.ts";

const PREFIX = "/api/aap";

const server = await startTestProvider({ after }, { settings: { path_prefix: PREFIX } });

/** As elsewhere, but below the prefix. */
async function setStage(): Promise<Stage> {
  const provisioner = await server.token({ kind: "provisioner" });
  const post = <T>(path: string, token: string, body: object): Promise<Answer<T>> =>
    server.call<T>("POST", PREFIX + path, { token, key: server.freshKey(), body });
  const { json } = await post<ProvisionInstanceResponse>("/v1/instances", provisioner, {});
  const credential = json.credential.token;
  const request = await post<{ id: string }>("/v1/requests", credential, SUBMISSION);
  return { provisioner, credential, instanceId: json.instance.id, requestId: request.json.id };
}

for (const operation of OPERATION_NAMES) {
  test(`[ours.exchange.prefix] ${operation} is served under the prefix, and only there`, async () => {
    const stage = await setStage();
    const { method, success, credential } = OPERATIONS[operation];
    const path = pathOf(server, operation, stage);
    const token = credential === "provisioner" ? stage.provisioner : stage.credential;
    const elsewhere = ["", "/api", "/aap", "/api/aap/api/aap", "/API/AAP", "/api/aapx"];
    for (const prefix of elsewhere) {
      const call = { token, key: server.freshKey() };
      const answer = await server.call(method, path.replace(PREFIX, prefix), call);
      assertRefused(answer, 404, "not_found");
    }
    const answer = await callOperation(server, operation, stage);
    assert.equal(answer.status, success[0], answer.text);
  });
}

test("[ours.exchange.prefix] [ours.exchange.wrong-method] a wrong method under the prefix returns 405 with the allowed methods", async () => {
  const answer = await server.call("PUT", `${PREFIX}/v1/requests`);
  assertRefused(answer, 405, "method_not_allowed");
  assert.equal(answer.headers.get("allow"), "POST");
});

test("[ours.exchange.prefix] an unknown path under the prefix returns 404", async () => {
  for (const path of ["", "/", "/v1", "/v1/nowhere", "/healthz", "/review/v1/requests"]) {
    assertRefused(await server.call("GET", PREFIX + path), 404, "not_found");
  }
});

test("[ours.exchange.prefix] the served description names the prefix as its server, and differs in nothing else", async (t) => {
  const plain = await startTestProvider(t);
  const read = async (url: string) => (await fetch(`${url}/openapi.yaml`)).text();
  const [prefixed, bare] = await Promise.all([read(server.url), read(plain.url)]);
  assert.match(bare, /^servers:\n {2}- url: \/\n/m);
  assert.match(prefixed, /^servers:\n {2}- url: \/api\/aap\n/m);
  assert.equal(prefixed.replace("- url: /api/aap\n", "- url: /\n"), bare);
});

test("[ours.exchange.prefix] paths outside the contract surface do not move", async () => {
  for (const path of ["/healthz", "/readyz", "/metrics", "/openapi.yaml"]) {
    assert.equal((await fetch(server.url + path)).status, 200, path);
  }
  const token = await server.token({ kind: "reviewer" });
  assert.equal((await server.call("GET", "/review/v1/requests", { token })).status, 200);
});
