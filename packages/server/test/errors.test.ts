import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { type ErrorResponse, PROBLEMS } from "@countersign/protocol";
import { assertRefused, TYPE_OF_STATUS, UUID } from "./support/envelope.ts";
import { provokeEveryRefusal } from "./support/every-refusal.ts";
import { startUnavailable } from "./support/failing-providers.ts";
import { BODY_OPERATIONS, callOperation, setStage } from "./support/operation-calls.ts";
import { hideTables } from "./support/store-faults.ts";
import { startTestProvider } from "./support/test-provider.ts";

const refusals = await provokeEveryRefusal({ after });

function errorOf(code: string): ErrorResponse["error"] {
  const refusal = refusals.get(code);
  assert.ok(refusal !== undefined, code);
  return (refusal.answer.json as ErrorResponse).error;
}

test("[error.envelope.code] every code has been brought about and is lower-case snake case", () => {
  assert.deepEqual([...refusals.keys()].sort(), Object.keys(PROBLEMS).sort());
  for (const code of refusals.keys()) {
    assert.equal(errorOf(code).code, code);
    assert.match(code, /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
  }
});

test("[error.envelope.shape] an error has type, code, message, request id and perhaps a param, and nothing else", () => {
  for (const [code, { answer, param }] of refusals) {
    assert.equal(answer.headers.get("content-type"), "application/json", code);
    assert.deepEqual(Object.keys(answer.json as object), ["error"], code);
    const fields = ["type", "code", "message", "request_id", ...(param ? ["param"] : [])];
    const { findings, ...error } = errorOf(code);
    assert.deepEqual(Object.keys(error).sort(), fields.sort(), code);
    for (const value of Object.values(error)) assert.equal(typeof value, "string", code);
    // The contract knows neither this code nor its findings.
    assert.equal(findings !== undefined, code === "policy_invalid", code);
  }
});

test("[error.envelope.request-id] error.request_id equals the X-Request-ID of the response", () => {
  for (const [code, { answer }] of refusals) {
    assert.match(errorOf(code).request_id, UUID);
    assert.equal(errorOf(code).request_id, answer.headers.get("x-request-id"));
  }
});

const TYPES = [
  "invalid_request",
  "authentication",
  "authorization",
  "not_found",
  "conflict",
  "rate_limit",
  "dependency",
  "internal",
];

test("[error.envelope.type] [error.codes] the type is one of the eight, and the same for every error of one status", () => {
  const seen = new Set<string>();
  for (const [code, { answer }] of refusals) {
    const { type } = errorOf(code);
    assert.ok(TYPES.includes(type), code);
    assert.equal(type, TYPE_OF_STATUS.get(answer.status), code);
    seen.add(type);
  }
  assert.deepEqual([...seen].sort(), TYPES.toSorted());
});

/** Text that only a stack, a path, a statement or a library contains. */
const INTERNALS = [
  /\bat \S+:\d+|\n\s+at |node:|node_modules|\.(ts|js|db|sql)\b/,
  /\b(select|insert|update|delete|alter) (into|from|\w+ set)\b|sqlite|no such table|errcode/i,
  /fastify|FST_|[A-Z][a-z]+Error|undefined|\[object/,
];

test("[error.envelope.message] [ours.exchange.no-leaks] the message says something, and nothing of a stack, a file, SQL or a secret", () => {
  for (const [code, { answer, secrets }] of refusals) {
    assert.match(errorOf(code).message, /^[A-Z\w].*\.$/, code);
    const everything = answer.text + JSON.stringify([...answer.headers]);
    for (const internals of INTERNALS) assert.doesNotMatch(everything, internals, code);
    assert.doesNotMatch(everything, /cs_(inst|prov|rev)_/, code);
    for (const secret of secrets) assert.ok(!everything.includes(secret), `${code}: ${secret}`);
  }
});

test("[ours.exchange.no-leaks] no answer names the software that gives it", async (t) => {
  const server = await startTestProvider(t);
  const answers = [await server.call("GET", "/healthz"), await server.call("GET", "/nowhere")];
  for (const { headers } of answers) {
    for (const name of ["server", "x-powered-by", "via"]) assert.equal(headers.get(name), null);
  }
});

test("[error.envelope.param] an error about an input names it in param, and one about no input has none", () => {
  for (const [code, { param }] of refusals) assert.equal(errorOf(code).param, param, code);
});

test("[ours.error.codes-documented] the error reference has status, type, meaning, cause and fix of every code", () => {
  const page = join(import.meta.dirname, "../../../docs/reference/errors.md");
  const rows = readFileSync(page, "utf8").split("\n");
  for (const [code, { answer }] of refusals) {
    const row = rows.find((line) => line.startsWith(`| \`${code}\` |`)) ?? "";
    const [, , status, type, ...texts] = row.split("|").map((cell) => cell.trim());
    assert.equal(status, String(answer.status), code);
    assert.equal(type, `\`${errorOf(code).type}\``, code);
    const written = texts.filter((text) => text.endsWith("."));
    assert.equal(written.length, 3, `${code}: meaning, cause and fix`);
  }
});

test("[error.malformed] malformed JSON returns 400 on every operation with a body", async (t) => {
  const server = await startTestProvider(t);
  const stage = await setStage(server);
  for (const operation of BODY_OPERATIONS) {
    for (const body of ["{", "{]", '{"a" 1}', "{'a':1}", "{} {}", "undefined", "\ufeff{}"]) {
      const answer = await callOperation(server, operation, stage, { body });
      assertRefused(answer, 400, "invalid_json", body.startsWith('{"') ? "a" : "body");
    }
  }
});

test("[error.internal] a verdict that fails with a defect returns 500 and approves nothing", async (t) => {
  const server = await startTestProvider(t);
  const stage = await setStage(server);
  const reviewer = await server.token({ kind: "reviewer" });
  const showTables = await hideTables(server, "audit_entry");
  const refused = await server.decide(reviewer, stage.requestId, "approve");
  assertRefused(refused, 500, "internal");
  assert.equal((await server.read(stage.credential, stage.requestId)).status, "pending");
  await showTables();
  assert.equal((await server.read(stage.credential, stage.requestId)).status, "pending");
  const approved = await server.decide(reviewer, stage.requestId, "approve");
  assert.equal(approved.json.status, "approved");
});

test("[error.unavailable] [error.retry-after] a provider that is temporarily unavailable answers 503 with a Retry-After in seconds", async (t) => {
  const { server, stage } = await startUnavailable(t);
  for (const operation of ["getInstance", "createApprovalRequest"] as const) {
    const answer = await callOperation(server, operation, stage);
    assertRefused(answer, 503, "unavailable");
    assert.match(answer.headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
  }
  const ready = await server.call("GET", "/readyz");
  assertRefused(ready, 503, "unavailable");
});
