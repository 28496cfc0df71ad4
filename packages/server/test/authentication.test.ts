import assert from "node:assert/strict";
import { after, test } from "node:test";
import { OPERATIONS, type OperationName } from "@countersign/protocol";
import { revokeToken } from "../src/index.ts";
import { drawUnknownToken, issueInstanceCredential, issueToken } from "./support/credentials.ts";
import { assertRefused } from "./support/envelope.ts";
import { ManualClock } from "./support/manual-clock.ts";
import {
  type Change,
  callOperation,
  INSTANCE_OPERATIONS,
  OPERATION_NAMES,
  pathOf,
  REQUEST_OPERATIONS,
  setStage,
} from "./support/operation-calls.ts";
import { answerTo, connectRaw } from "./support/raw-connection.ts";
import { startTestProvider } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";

const clock = new ManualClock();
const server = await startTestProvider(
  { after },
  { clock, settings: { unauthenticated_rate: "0" } },
);

/** No call of this file may change these; the last test checks them. */
const stage = await setStage(server);

async function assertAllRefused(
  operations: readonly OperationName[],
  change: Change,
  status: 401 | 403,
): Promise<void> {
  const code = status === 401 ? "invalid_credential" : "wrong_credential_kind";
  for (const operation of operations) {
    const answer = await callOperation(server, operation, stage, change);
    assertRefused(answer, status, code);
    assert.equal(answer.headers.get("www-authenticate"), challengeOf(status, change));
  }
}

/** RFC 6750 requires a parameter in every 401, and an error only if the client sent a token. */
function challengeOf(status: 401 | 403, { token, headers }: Change): string | null {
  if (status === 403) return null;
  const isSent = (token ?? "") !== "" || /^bearer +\S/i.test(headers?.authorization ?? "");
  return `Bearer realm="countersign"${isSent ? ', error="invalid_token"' : ""}`;
}

test("[auth.bearer] [ours.auth.challenge] every operation is authenticated by Authorization: Bearer <token>", async () => {
  for (const operation of OPERATION_NAMES) {
    const own = await setStage(server);
    const { credential } = OPERATIONS[operation];
    const token = credential === "provisioner" ? own.provisioner : own.credential;
    const headers = { authorization: `Bearer ${token}` };
    const answer = await callOperation(server, operation, own, { token: undefined, headers });
    assert.equal(answer.status, OPERATIONS[operation].success[0], operation);
  }
});

test("[auth.missing] [ours.auth.matrix] every operation without a credential returns 401", async () => {
  await assertAllRefused(OPERATION_NAMES, { token: undefined }, 401);
});

const ELSEWHERE: Readonly<Record<string, (token: string) => Record<string, string>>> = {
  "a cookie": (token) => ({ cookie: `access_token=${token}; token=${token}` }),
  "an X-API-Key": (token) => ({ "x-api-key": token }),
  "Proxy-Authorization": (token) => ({ "proxy-authorization": `Bearer ${token}` }),
  "basic authentication": (token) => ({ authorization: `Basic ${btoa(`${token}:`)}` }),
  "another scheme": (token) => ({ authorization: `Token ${token}` }),
  "no scheme": (token) => ({ authorization: token }),
};

for (const [place, headersFor] of Object.entries(ELSEWHERE)) {
  test(`[auth.bearer] [ours.auth.matrix] a valid credential in ${place} returns 401`, async () => {
    for (const operation of OPERATION_NAMES) {
      const isProvisioner = OPERATIONS[operation].credential === "provisioner";
      const token = isProvisioner ? stage.provisioner : stage.credential;
      const change = { token: undefined, headers: headersFor(token) };
      await assertAllRefused([operation], change, 401);
    }
  });
}

test("[auth.bearer] a valid credential in the query returns 401", async () => {
  const path = `${pathOf(server, "getApprovalRequest", stage)}?access_token=${stage.credential}`;
  assertRefused(await server.call("GET", path), 401, "invalid_credential");
});

/** Wrong beyond repair, made from a token that is right. */
const MALFORMED: Readonly<Record<string, (token: string) => string>> = {
  "no token": () => "Bearer",
  "only a comma": () => "Bearer ,",
  "a token of another issuer": () => "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
  "a word": () => "Bearer token",
  "a token that is one character short": (token) => `Bearer ${token.slice(0, -1)}`,
  "a token that is one character long": (token) => `Bearer ${token}0`,
  "a token of another case": (token) => `Bearer ${token.toUpperCase()}`,
  "a token in quotes": (token) => `Bearer "${token}"`,
  "two tokens": (token) => `Bearer ${token} ${token}`,
  "a token and more": (token) => `Bearer ${token}, Basic eDp5`,
  "a token of another prefix": (token) => `Bearer ${token.replace(/^cs_[a-z]+_/, "cs_root_")}`,
  "a token of 8,000 characters": (token) => `Bearer ${token.padEnd(8_000, "0")}`,
  "bytes beyond ASCII": (token) => `Bearer ${token.slice(0, -1)}\u00e9`,
};

for (const [what, headerFor] of Object.entries(MALFORMED)) {
  test(`[auth.invalid] [ours.auth.matrix] ${what} for a credential returns 401`, async () => {
    for (const token of [stage.provisioner, stage.credential]) {
      const headers = { authorization: headerFor(token) };
      await assertAllRefused(OPERATION_NAMES, { token: undefined, headers }, 401);
    }
  });
}

test("[auth.invalid] [ours.auth.matrix] a well-formed token that was never issued returns 401", async () => {
  for (const kind of ["provisioner", "instance", "reviewer"] as const) {
    await assertAllRefused(OPERATION_NAMES, { token: drawUnknownToken(server, kind) }, 401);
  }
});

test("[auth.revoked] [ours.auth.matrix] a revoked provisioner token returns 401", async () => {
  const { id, token } = await issueToken(server, { kind: "provisioner" });
  const path = `/v1/instances/${stage.instanceId}`;
  assert.equal((await server.call("GET", path, { token })).status, 200);
  await revokeToken(server.provider.context, id);
  await assertAllRefused(OPERATION_NAMES, { token }, 401);
});

test("[auth.revoked] a token that is revoked while a body is on its way does nothing any more", async (t) => {
  const cases = [
    ["provisioner", "POST /v1/instances", "{}"],
    ["reviewer", "POST /review/v1/freezes", '{"scope":"project"}'],
  ] as const;
  for (const [kind, line, body] of cases) {
    const { id, token } = await issueToken(server, { kind });
    const connection = await connectRaw(t, server.url);
    const head = [
      `${line} HTTP/1.1`,
      "Host: x",
      `Authorization: Bearer ${token}`,
      "Idempotency-Key: k",
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ];
    connection.send(`${head.join("\r\n")}\r\n\r\n${body.slice(0, 1)}`);
    await turns(200);
    await revokeToken(server.provider.context, id);
    connection.send(body.slice(1));
    assertRefused(await connection.answer(), 401, "invalid_credential");
  }
});

test("[auth.revoked] [ours.auth.matrix] a revoked instance credential returns 401", async () => {
  const own = await setStage(server);
  await callOperation(server, "deleteInstance", own);
  await assertAllRefused(OPERATION_NAMES, { token: own.credential }, 401);
});

test("[auth.expired] [ours.auth.matrix] an expired provisioner token returns 401, from its end on", async () => {
  const expiresAt = clock.now() + 60_000;
  const token = await server.token({ kind: "provisioner", expiresAt });
  clock.advance(59_999);
  const live = await callOperation(server, "getInstance", stage, { token });
  assert.equal(live.status, 200);
  clock.advance(1);
  await assertAllRefused(OPERATION_NAMES, { token }, 401);
});

test("[auth.expired] [ours.auth.matrix] an expired instance credential returns 401, from its end on", async () => {
  const expiresAt = clock.now() + 60_000;
  const token = await issueInstanceCredential(server, stage.instanceId, expiresAt);
  clock.advance(59_999);
  const live = await callOperation(server, "getApprovalRequest", stage, { token });
  assert.equal(live.status, 200);
  clock.advance(1);
  await assertAllRefused(OPERATION_NAMES, { token }, 401);
});

test("[auth.provisioner.not-requests] [ours.auth.matrix] a provisioner token on any approval operation returns 403", async () => {
  await assertAllRefused(REQUEST_OPERATIONS, { token: stage.provisioner }, 403);
});

test("[auth.instance.not-instances] [ours.auth.matrix] an instance credential on any instance operation returns 403", async () => {
  await assertAllRefused(INSTANCE_OPERATIONS, { token: stage.credential }, 403);
});

test("[ours.auth.reviewer-token] [ours.auth.matrix] a reviewer token of any role on any operation returns 403", async () => {
  for (const role of ["reviewer", "viewer"] as const) {
    const token = await server.token({ kind: "reviewer", name: role, role });
    await assertAllRefused(OPERATION_NAMES, { token }, 403);
  }
});

for (const scheme of ["bearer", "BEARER", "bEaReR", "Bearer  "]) {
  test(`[ours.auth.scheme-case] the scheme is accepted as ${JSON.stringify(scheme)}`, async () => {
    const operations = [
      ["getInstance", stage.provisioner],
      ["getApprovalRequest", stage.credential],
    ] as const;
    for (const [operation, token] of operations) {
      const headers = { authorization: `${scheme} ${token}` };
      const answer = await callOperation(server, operation, stage, { token: undefined, headers });
      assert.equal(answer.status, 200);
    }
  });
}

test("[auth.missing] [ours.auth.matrix] a request without a token returns 401 before the server checks key, id and body", async () => {
  const change = { token: undefined, id: "no-uuid" };
  for (const operation of OPERATION_NAMES) {
    const { method } = OPERATIONS[operation];
    const path = pathOf(server, operation, stage, "no-uuid");
    assertRefused(await server.call(method, path), 401, "invalid_credential");
    const broken = OPERATIONS[operation].idempotencyKey ? { body: "{" } : {};
    const answer = await callOperation(server, operation, stage, { ...change, ...broken });
    assertRefused(answer, 401, "invalid_credential");
  }
});

test("[auth.missing] a stranger's body is not waited for", async (t) => {
  const answer = await answerTo(
    t,
    server.url,
    "POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n",
  );
  assertRefused(answer, 401, "invalid_credential");
});

test("[ours.auth.matrix] nothing of all this has touched the instance or its request", async () => {
  const instance = await callOperation<{ name: string }>(server, "getInstance", stage);
  assert.equal(instance.status, 200);
  assert.notEqual(instance.json.name, "renamed");
  assert.equal((await server.read(stage.credential, stage.requestId)).status, "pending");
});
