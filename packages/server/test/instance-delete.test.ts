import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { callOperation, REQUEST_OPERATIONS, setStage } from "./support/operation-calls.ts";
import { type Answer, type ReviewedRequest, startTestProvider } from "./support/test-provider.ts";

const server = await startTestProvider({ after });
const reviewer = await server.token({ kind: "reviewer" });

function remove(provisioner: string, id: string): Promise<Answer<ErrorResponse>> {
  return server.call("DELETE", `/v1/instances/${id}`, { token: provisioner });
}

/** As a reviewer sees it, whose token outlives the instance. */
async function review(id: string): Promise<ReviewedRequest> {
  const path = `/review/v1/requests/${id}`;
  const answer = await server.call<ReviewedRequest>("GET", path, { token: reviewer });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

test("[instance.read] reading an instance returns 200 and the instance", async () => {
  const provisioner = await server.token({ kind: "provisioner" });
  const { instance } = await server.provision(provisioner, "reader");
  const path = `/v1/instances/${instance.id}`;
  const answer = await server.call("GET", path, { token: provisioner });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, { id: instance.id, name: "reader" });
});

test("[instance.read.no-secrets] reading or updating an instance returns no credential and no secret", async () => {
  const stage = await setStage(server);
  for (const operation of ["getInstance", "updateInstance"] as const) {
    const { status, text, json, headers } = await callOperation(server, operation, stage);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json).sort(), ["id", "name"]);
    const everything = text + JSON.stringify([...headers]);
    for (const secret of [stage.credential, stage.provisioner, "credential", "token", "secret"]) {
      assert.ok(!everything.includes(secret), operation);
    }
  }
});

test("[instance.read.unknown] [instance.delete.unknown] an instance that never existed returns 404", async () => {
  const stage = await setStage(server);
  for (const operation of ["getInstance", "deleteInstance"] as const) {
    const answer = await callOperation(server, operation, stage, { id: randomUUID() });
    assertRefused(answer, 404, "not_found");
  }
  // The id of a request is not the id of an instance.
  assertRefused(await remove(stage.provisioner, stage.requestId), 404, "not_found");
});

test("[instance.delete] deleting an instance returns 204 without a body and needs no key", async () => {
  const { provisioner, instanceId } = await setStage(server);
  const answer = await remove(provisioner, instanceId);
  assert.equal(answer.status, 204);
  assert.equal(answer.text, "");
  assert.equal(answer.headers.get("content-type"), null);
});

test("[instance.delete.repeat] deleting it again returns 204, also with another of the tokens", async () => {
  const { provisioner, instanceId } = await setStage(server);
  const second = await server.token({ kind: "provisioner" });
  for (const token of [provisioner, provisioner, second]) {
    const answer = await remove(token, instanceId);
    assert.equal(answer.status, 204);
    assert.equal(answer.text, "");
  }
});

test("[instance.read.deleted] reading a deleted instance returns 404", async () => {
  const { provisioner, instanceId } = await setStage(server);
  await remove(provisioner, instanceId);
  const answer = await server.call("GET", `/v1/instances/${instanceId}`, { token: provisioner });
  assertRefused(answer, 404, "not_found");
});

test("[instance.delete.credentials-revoked] [auth.revoked] after the 204, its credential returns 401 on every operation", async () => {
  const stage = await setStage(server);
  await remove(stage.provisioner, stage.instanceId);
  for (const operation of REQUEST_OPERATIONS) {
    const answer = await callOperation(server, operation, stage);
    assertRefused(answer, 401, "invalid_credential");
  }
});

test("[instance.delete.credentials-revoked] the other instances keep theirs", async () => {
  const [gone, kept] = [await setStage(server), await setStage(server)];
  await remove(gone.provisioner, gone.instanceId);
  const request = await server.read(kept.credential, kept.requestId);
  assert.equal(request.status, "pending");
});

test("[instance.delete.pending-cancelled] its pending requests become cancelled", async () => {
  const { provisioner, instanceId, credential, requestId } = await setStage(server);
  const second = await server.submit(credential);
  await remove(provisioner, instanceId);
  for (const id of [requestId, second.id]) {
    const { status, decision } = await review(id);
    assert.equal(status, "cancelled");
    assert.equal(decision?.status, "cancelled");
  }
});

test("[instance.delete.terminal-kept] its terminal decisions stay as they were", async () => {
  const { provisioner, instanceId, credential, requestId: approved } = await setStage(server);
  const denied = (await server.submit(credential)).id;
  const cancelled = (await server.submit(credential)).id;
  await server.decide(reviewer, approved, "approve", { note: "go" });
  await server.decide(reviewer, denied, "deny", { note: "no" });
  await server.call("DELETE", `/v1/requests/${cancelled}`, { token: credential });
  const ids = [approved, denied, cancelled];
  // All but the time of the answer.
  const shown = async (id: string) => ({ ...(await review(id)), now: undefined });
  const before = await Promise.all(ids.map(shown));
  await remove(provisioner, instanceId);
  assert.deepEqual(await Promise.all(ids.map(shown)), before);
});

/** The pending requests of a project, as its reviewer lists them. */
async function pendingIn(project: string): Promise<readonly ReviewedRequest[]> {
  const token = await server.token({ kind: "reviewer", project });
  const path = "/review/v1/requests?state=pending&limit=200";
  const answer = await server.call<{ requests: ReviewedRequest[] }>("GET", path, { token });
  return answer.json.requests;
}

function statusesOf(answers: readonly Answer[]): string {
  return [...new Set(answers.map(({ status }) => status))].sort().join();
}

for (const round of [1, 2, 3, 4]) {
  test(`[instance.delete.serialised] beside creations, decisions and updates it leaves nothing pending and no live credential (${round})`, async () => {
    const project = `serialised-${round}`;
    const stage = await setStage(server, project);
    const token = await server.token({ kind: "reviewer", project });
    const before = await Promise.all([1, 2, 3].map(() => server.submit(stage.credential)));
    const call = (operation: "createApprovalRequest" | "updateInstance") =>
      callOperation(server, operation, stage);
    const decisions = before.map(({ id }) => server.decide(token, id, "approve"));
    const creations = [1, 2, 3, 4, 5].map(() => call("createApprovalRequest"));
    const updates = [1, 2, 3].map(() => call("updateInstance"));
    const deletion = remove(stage.provisioner, stage.instanceId);
    creations.push(...[1, 2, 3, 4, 5].map(() => call("createApprovalRequest")));
    updates.push(...[1, 2, 3].map(() => call("updateInstance")));

    assert.equal((await deletion).status, 204);
    assert.match(statusesOf(await Promise.all(creations)), /^(201|401|201,401)$/);
    assert.match(statusesOf(await Promise.all(updates)), /^(200|404|200,404)$/);
    assert.match(statusesOf(await Promise.all(decisions)), /^(200|409|200,409)$/);
    assert.deepEqual(await pendingIn(project), []);
    const late = await call("createApprovalRequest");
    assertRefused(late, 401, "invalid_credential");
  });
}

test("[instance.delete.serialised] concurrent deletions all return 204", async () => {
  const { provisioner, instanceId } = await setStage(server);
  const attempts = Array.from({ length: 10 }, () => remove(provisioner, instanceId));
  assert.equal(statusesOf(await Promise.all(attempts)), "204");
});
