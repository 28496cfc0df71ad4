import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type ErrorResponse, type Instance, OPERATIONS } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import {
  BODY_OPERATIONS,
  callOperation,
  OPERATION_NAMES,
  pathOf,
  setStage,
} from "./support/operation-calls.ts";
import { answerTo } from "./support/raw-connection.ts";
import { SUBMISSION, startTestProvider } from "./support/test-provider.ts";

const server = await startTestProvider({ after });
const synchronous = await startTestProvider({ after }, { settings: { webhooks_off: "true" } });

const DELIVERY = {
  type: "webhook",
  url: "https://receiver.example.com/approvals",
  registration_id: "019cad9c-8813-729c-9c30-e0604515ced9",
  signing_secret: "whsec_ZXhhbXBsZS1zaWduaW5nLXNlY3JldC0zMi1ieXRlcyE=",
};

test("[service.operations.seven] all seven operations answer at their method and path", async () => {
  assert.equal(OPERATION_NAMES.length, 7);
  for (const operation of OPERATION_NAMES) {
    const answer = await callOperation(server, operation, await setStage(server));
    assert.equal(answer.status, OPERATIONS[operation].success[0], `${operation}: ${answer.text}`);
  }
});

test("[service.response.unwrapped] a success body is the resource itself", async () => {
  const stage = await setStage(server);
  const request = ["id", "tool", "arguments", "timeout", "status", "created_at", "deadline_at"];
  const fields = {
    provisionInstance: ["instance", "credential"],
    getInstance: ["id", "name"],
    updateInstance: ["id", "name"],
    createApprovalRequest: request,
    getApprovalRequest: request,
    cancelApprovalRequest: [...request, "decision"],
  } as const;
  for (const operation of Object.keys(fields) as (keyof typeof fields)[]) {
    const answer = await callOperation<object>(server, operation, stage);
    assert.deepEqual(Object.keys(answer.json).sort(), fields[operation].toSorted(), operation);
  }
});

test("[service.denied.is-success] reading a denied request returns 200 with the status denied", async () => {
  const { credential, requestId } = await setStage(server);
  const reviewer = await server.token({ kind: "reviewer" });
  await server.decide(reviewer, requestId, "deny");
  const answer = await server.call<{ status: string }>("GET", `/v1/requests/${requestId}`, {
    token: credential,
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.json.status, "denied");
});

const JSON_TYPES = [
  "application/json",
  "Application/JSON",
  "application/json; charset=utf-8",
  "application/json;charset=UTF-8",
  'application/json; charset="utf-8"',
  "application/json ;\tcharset=utf-8 ",
];

for (const type of JSON_TYPES) {
  test(`[service.body.content-type] a body is accepted as ${JSON.stringify(type)}`, async () => {
    const stage = await setStage(server);
    for (const operation of BODY_OPERATIONS) {
      const answer = await callOperation(server, operation, stage, {
        headers: { "content-type": type },
      });
      assert.equal(answer.status, OPERATIONS[operation].success[0], answer.text);
    }
  });
}

const OTHER_TYPES = [
  "text/plain",
  "text/json",
  "application/xml",
  "application/jsonp",
  "application/merge-patch+json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json; charset=latin1",
  "application/json; version=1",
  "json",
  "*/*",
];

test("[service.body.content-type] a body of any other media type returns 400 in the envelope", async () => {
  const stage = await setStage(server);
  for (const operation of BODY_OPERATIONS) {
    for (const type of OTHER_TYPES) {
      const headers = { "content-type": type };
      const answer = await callOperation(server, operation, stage, { headers });
      assertRefused(answer, 400, "invalid_request", "Content-Type");
    }
  }
  assert.equal((await server.read(stage.credential, stage.requestId)).status, "pending");
});

test("[service.body.content-type] a body without a media type returns 400 in the envelope", async (t) => {
  const stage = await setStage(server);
  for (const operation of BODY_OPERATIONS) {
    const { method, credential } = OPERATIONS[operation];
    const token = credential === "provisioner" ? stage.provisioner : stage.credential;
    const body = JSON.stringify(SUBMISSION);
    const answer = await answerTo(
      t,
      server.url,
      `${method} ${pathOf(server, operation, stage)} HTTP/1.1\r\nHost: localhost\r\n` +
        `Authorization: Bearer ${token}\r\nIdempotency-Key: ${server.freshKey()}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    assertRefused(answer, 400, "invalid_request", "Content-Type");
  }
});

test("[service.body.content-type] a compressed body returns 400 in the envelope", async () => {
  const stage = await setStage(server);
  const headers = { "content-encoding": "gzip" };
  for (const operation of BODY_OPERATIONS) {
    const answer = await callOperation(server, operation, stage, { headers });
    assertRefused(answer, 400, "invalid_request", "Content-Encoding");
  }
});

test("[service.delivery.synchronous-only] provisioning with a delivery is rejected and creates nothing", async () => {
  const provisioner = await synchronous.token({ kind: "provisioner" });
  const call = { token: provisioner, key: synchronous.freshKey(), body: { delivery: DELIVERY } };
  const refused = await synchronous.call("POST", "/v1/instances", call);
  assertRefused(refused, 400, "unsupported_delivery_type", "delivery");
  // The refused attempt has not used up its key either.
  const accepted = await synchronous.call("POST", "/v1/instances", { ...call, body: {} });
  assert.equal(accepted.status, 201);
});

test("[service.delivery.synchronous-only] an update with a delivery is rejected and changes nothing", async () => {
  const provisioner = await synchronous.token({ kind: "provisioner" });
  const { instance } = await synchronous.provision(provisioner, "before");
  const path = `/v1/instances/${instance.id}`;
  const body = { instance_name: "after", delivery: DELIVERY };
  const call = { token: provisioner, key: synchronous.freshKey(), body };
  const refused = await synchronous.call<ErrorResponse>("PATCH", path, call);
  assertRefused(refused, 400, "unsupported_delivery_type", "delivery");
  const read = await synchronous.call<Instance>("GET", path, { token: provisioner });
  assert.deepEqual(read.json, instance);
});

test("[service.delivery.synchronous-only] a transport other than webhook is also rejected", async () => {
  const provisioner = await synchronous.token({ kind: "provisioner" });
  const body = { delivery: { type: "carrier-pigeon", loft: "north" } };
  const call = { token: provisioner, key: synchronous.freshKey(), body };
  const answer = await synchronous.call("POST", "/v1/instances", call);
  assertRefused(answer, 400, "unsupported_delivery_type", "delivery");
});
