import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { OPERATIONS } from "@countersign/protocol";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { parse } from "yaml";
import { OPENAPI_PATH } from "../../../tools/openapi/load-openapi.ts";
import { assertRefused, UUID } from "./support/envelope.ts";
import {
  callOperation,
  ID_OPERATIONS,
  OPERATION_NAMES,
  pathOf,
  setStage,
} from "./support/operation-calls.ts";
import { startTestProvider } from "./support/test-provider.ts";

const server = await startTestProvider({ after }, { settings: { unauthenticated_rate: "0" } });
const stage = await setStage(server);

test("[exchange.request-id] every response carries an X-Request-ID of its exchange alone", async () => {
  const ids: (string | null)[] = [];
  for (const operation of OPERATION_NAMES) {
    const own = await setStage(server);
    for (const change of [{}, {}, { token: undefined }, { id: "no-identifier" }]) {
      const { headers } = await callOperation(server, operation, own, change);
      ids.push(headers.get("x-request-id"));
    }
  }
  for (const id of ids) assert.match(id ?? "", UUID);
  assert.equal(new Set(ids).size, ids.length);
});

test("[exchange.request-id] the server ignores the caller's X-Request-ID", async () => {
  const theirs = "019cebab-898c-7217-800b-f38c40604079";
  for (const token of [stage.provisioner, undefined]) {
    const { headers } = await callOperation(server, "getInstance", stage, {
      token,
      headers: { "x-request-id": theirs, "request-id": theirs },
    });
    assert.match(headers.get("x-request-id") ?? "", UUID);
    assert.notEqual(headers.get("x-request-id"), theirs);
  }
});

test("[exchange.content-type] every success but a 204 is application/json", async () => {
  for (const operation of OPERATION_NAMES) {
    const key = server.freshKey();
    const own = await setStage(server);
    for (const expected of OPERATIONS[operation].success) {
      const { status, headers } = await callOperation(server, operation, own, { key });
      assert.equal(status, expected, operation);
      const type = status === 204 ? null : "application/json";
      assert.equal(headers.get("content-type"), type, operation);
    }
  }
});

const NO_IDENTIFIERS = [
  "x",
  "0",
  "null",
  "%20",
  "%00",
  "%F0%9F%98%80",
  "019cebab-898c-7217-800b-f38c4060407",
  "019cebab-898c-7217-800b-f38c406040790",
  "019cebab-898c-7217-800b-f38c4060407g",
  "019cebab898c7217800bf38c40604079",
  "{019cebab-898c-7217-800b-f38c40604079}",
  "urn:uuid:019cebab-898c-7217-800b-f38c40604079",
  "019cebab-898c-7217-800b-f38c40604079%0A",
  "..%2F..%2Fetc%2Fpasswd",
  "'%20or%20''='",
  "x".repeat(5_000),
];

for (const operation of ID_OPERATIONS) {
  test(`[exchange.path-id] ${operation} with an invalid identifier in the path returns 404`, async () => {
    for (const id of NO_IDENTIFIERS) {
      const answer = await callOperation(server, operation, stage, { id });
      assertRefused(answer, 404, "not_found");
    }
  });
}

test("[exchange.path-id] an identifier in capitals is the same identifier", async () => {
  for (const operation of ["getInstance", "getApprovalRequest"] as const) {
    const own = operation === "getInstance" ? stage.instanceId : stage.requestId;
    const change = { id: own.toUpperCase() };
    const answer = await callOperation<{ id: string }>(server, operation, stage, change);
    assert.equal(answer.status, 200);
    assert.equal(answer.json.id, own);
  }
});

const UNKNOWN_PATHS = [
  "/",
  "/v1",
  "/v1/",
  "/v1/instance",
  "/V1/instances",
  "/v1/instances/x/y",
  "/v1/requests/x/cancel",
  "/nowhere",
  "/favicon.ico",
];

test("[ours.exchange.unknown-route] an unknown path returns 404 not_found in the envelope, with any credential", async () => {
  for (const path of UNKNOWN_PATHS) {
    for (const token of [undefined, stage.provisioner, stage.credential]) {
      for (const method of ["GET", "POST", "DELETE", "PUT"]) {
        assertRefused(await server.call(method, path, { token }), 404, "not_found");
      }
    }
  }
});

test("[version.prefix] without the prefix /v1, or with another, there is no operation", async () => {
  for (const operation of OPERATION_NAMES) {
    const { method, path } = OPERATIONS[operation];
    assert.match(path, /^\/v1\//);
    const own = pathOf(server, operation, stage);
    for (const prefix of ["", "/v2", "/v1.0", "/v01", "/v1/v1", "/api/v1"]) {
      const call = { token: stage.provisioner, key: server.freshKey() };
      // Without the prefix it is the path of a console page, not of an operation.
      const isPage = prefix === "" && own.startsWith("/v1/instances");
      if (isPage && method === "GET") continue;
      const answer = await server.call(method, own.replace("/v1", prefix), call);
      if (isPage) assertRefused(answer, 405, "method_not_allowed");
      else assertRefused(answer, 404, "not_found");
    }
  }
});

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "/v1/instances": ["POST"],
  [`/v1/instances/${stage.instanceId}`]: ["DELETE", "GET", "PATCH"],
  "/v1/requests": ["POST"],
  [`/v1/requests/${stage.requestId}`]: ["DELETE", "GET"],
  "/healthz": ["GET"],
  "/openapi.yaml": ["GET"],
};

for (const [path, allowed] of Object.entries(ALLOWED)) {
  test(`[ours.exchange.wrong-method] ${path.replace(/[0-9a-f-]{36}/, ":id")} takes ${allowed.join(", ")}, and any other method is a 405 that says so`, async () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      if (allowed.includes(method)) continue;
      for (const token of [undefined, stage.provisioner]) {
        const answer = await server.call(method, `${path}?a=b`, { token });
        assertRefused(answer, 405, "method_not_allowed");
        const allow = answer.headers.get("allow")?.split(", ") ?? [];
        assert.deepEqual(allow.sort(), allowed);
      }
    }
  });
}

test("[ours.openapi.valid] the description is served at /openapi.yaml, to everybody", async () => {
  const response = await fetch(`${server.url}/openapi.yaml`);
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type") ?? "", /^application\/yaml/);
  assert.match(response.headers.get("x-request-id") ?? "", UUID);
  assert.equal(await response.text(), readFileSync(OPENAPI_PATH, "utf8"));
});

test("[ours.openapi.valid] GET /review/v1/openapi.json answers the reviewer API's description", async () => {
  const answer = await server.call("GET", "/review/v1/openapi.json");
  assert.equal(answer.status, 200);
  const description = JSON.parse(answer.text) as { openapi: string; paths: object };
  assert.match(description.openapi, /^3\.1\./);
  assert.ok("/review/v1/grants" in description.paths);
});

test("[ours.openapi.valid] the served description is valid OpenAPI 3.1", async () => {
  const source = await (await fetch(`${server.url}/openapi.yaml`)).text();
  assert.match((parse(source) as { openapi: string }).openapi, /^3\.1\./);
  const config = await createConfig({ rules: { struct: "error", "no-unresolved-refs": "error" } });
  const problems = await lintFromString({ source, config });
  assert.deepEqual(
    problems.map(({ message }) => message),
    [],
  );
});

test("[version.description] the served description has the version 1.0.0", async () => {
  const source = await (await fetch(`${server.url}/openapi.yaml`)).text();
  const { info } = parse(source) as { info: { version: string } };
  assert.equal(info.version, "1.0.0");
});
