/**
 * The scenarios of the OpenID AuthZEN working group against a real server over HTTPS. The levels
 * Basic, Batch and Discovery of the certification scenario pass; there is no Search API.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { EVALUATION, EVALUATIONS } from "./support/authzen.ts";
import {
  BATCHES,
  CERTIFICATION_POLICY,
  MALFORMED,
  RECORD_1,
  SINGLE,
  TODO_BATCHES,
  TODO_POLICY,
  TODO_SINGLE,
} from "./support/authzen-scenarios.ts";
import { callOverTls, type TlsAnswer } from "./support/call-over-tls.ts";
import { enforce } from "./support/policies.ts";
import { createSelfSigned } from "./support/self-signed.ts";
import { startTestProvider } from "./support/test-provider.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-authzen-"));
after(() => rmSync(directory, { recursive: true }));

const { key, certificate } = createSelfSigned();
const FILES = { tls_cert: join(directory, "cert.pem"), tls_key: join(directory, "key.pem") };
writeFileSync(FILES.tls_cert, certificate);
writeFileSync(FILES.tls_key, key, { mode: 0o600 });

const settings = { ...FILES, authzen: "true", instance_rate: "0" };
const server = await startTestProvider({ after }, { settings });
const credential = await provision("default");
await enforce(server, CERTIFICATION_POLICY);

type Body = { readonly decision?: unknown; readonly evaluations?: readonly Body[] };

interface Exchange {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly token?: string;
}

/** Trusts only the certificate of the test. */
function send(path: string, exchange: Exchange = {}): Promise<TlsAnswer> {
  const { method = "POST", headers = {}, body, token = credential } = exchange;
  const all = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    ...headers,
  };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return callOverTls(server.url + path, { method, headers: all, body: text, certificate });
}

async function provision(project: string): Promise<string> {
  const token = await server.token({ kind: "provisioner", project });
  const headers = { "idempotency-key": project };
  const answer = await send("/v1/instances", { token, headers, body: {} });
  assert.equal(answer.status, 201, answer.text);
  return (JSON.parse(answer.text) as { credential: { token: string } }).credential.token;
}

async function post(path: string, body: unknown, token?: string): Promise<Body> {
  const answer = await send(path, token === undefined ? { body } : { body, token });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/json");
  return JSON.parse(answer.text) as Body;
}

function assertDecisions(
  { evaluations = [] }: Body,
  expected: readonly (boolean | undefined)[],
  what: string,
): void {
  assert.equal(evaluations.length, expected.length, what);
  for (const [index, { decision }] of evaluations.entries()) {
    assert.equal(typeof decision, "boolean", what);
    if (expected[index] !== undefined) assert.equal(decision, expected[index], what);
  }
}

test("[ours.authzen.scenarios] certification, Basic: the decisions of the fixture", async () => {
  for (const [section, body, decision] of SINGLE) {
    assert.equal((await post(EVALUATION, body)).decision, decision, section);
  }
});

test("[ours.authzen.scenarios] certification, Basic: a malformed request returns 400", async () => {
  for (const [section, body] of MALFORMED) {
    const answer = await send(EVALUATION, { body });
    assert.equal(answer.status, 400, section);
    assert.match(answer.text, /\S/, section);
  }
  const headers = { "content-type": "text/plain" };
  const wrongType = await send(EVALUATION, { headers, body: SINGLE[0]?.[1] });
  assert.equal(wrongType.status, 400);
});

test("[ours.authzen.scenarios] certification, Basic: X-Request-ID is echoed, and a repeated request has the same decision", async () => {
  const [, body] = SINGLE[0] ?? [];
  for (const id of ["bfe9eb29-ab87-4ca3-be83-a1d5d8305716", "any text: 7/8"]) {
    const answer = await send(EVALUATION, { headers: { "x-request-id": id }, body });
    assert.equal(answer.headers.get("x-request-id"), id);
    const failed = await send(EVALUATION, { headers: { "x-request-id": id }, body: {} });
    assert.equal(failed.headers.get("x-request-id"), id);
  }
  for (let run = 0; run < 5; run++) assert.equal((await post(EVALUATION, body)).decision, true);
});

test("[ours.authzen.scenarios] certification, Batch: the decisions of the fixture in order", async () => {
  for (const [section, body, expected] of BATCHES) {
    assertDecisions(await post(EVALUATIONS, body), expected, section);
  }
});

test("[ours.authzen.scenarios] certification, Batch: a request without evaluations is a single one", async () => {
  const [, body] = SINGLE[0] ?? [];
  assert.equal((await post(EVALUATIONS, body)).decision, true, "3.4.2");
  assert.equal((await post(EVALUATIONS, { ...body, evaluations: [] })).decision, true, "3.4.3");
});

test("[ours.authzen.scenarios] certification, Discovery: the metadata has the base URL and HTTPS endpoints", async () => {
  const answer = await send("/.well-known/authzen-configuration", { method: "GET", token: "none" });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "application/json");
  const metadata = JSON.parse(answer.text) as Record<string, unknown>;
  assert.equal(metadata.policy_decision_point, server.url);
  for (const [name, path] of [
    ["access_evaluation_endpoint", EVALUATION],
    ["access_evaluations_endpoint", EVALUATIONS],
    ["access_request_endpoint", "/access/v1/requests"],
  ] as const) {
    assert.equal(metadata[name], server.url + path);
    assert.match(String(metadata[name]), /^https:/);
  }
  assert.deepEqual(metadata.capabilities, ["urn:openid:authzen:capability:access-request"]);
  assert.equal("search_subject_endpoint" in metadata, false);
});

test("[ours.authzen.scenarios] the interoperability scenario Todo: 40 decisions and 3 batches", async () => {
  await enforce(server, TODO_POLICY);
  assert.equal(TODO_SINGLE.length, 40);
  for (const [body, decision] of TODO_SINGLE) {
    assert.equal((await post(EVALUATION, body)).decision, decision, JSON.stringify(body));
  }
  for (const [body, expected] of TODO_BATCHES) {
    assertDecisions(await post(EVALUATIONS, body), expected, JSON.stringify(body));
  }
});

test("[ours.authzen.scenarios] there is no Search API", async () => {
  for (const kind of ["subject", "resource", "action"]) {
    const answer = await send(`/access/v1/search/${kind}`, { body: { resource: RECORD_1 } });
    assert.equal(answer.status, 404);
  }
});
