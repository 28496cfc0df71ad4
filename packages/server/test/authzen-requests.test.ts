/** The Access Request and Approval Profile over the requests of the contract. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import {
  approvedTask,
  assertProblem,
  cancelTask,
  decisionOf,
  evaluate,
  pendingTask,
  REFUND,
  readTask,
  startAuthzen,
  submissionFor,
  submitAccess,
  TASKS,
  withApproval,
} from "./support/authzen.ts";
import { enforce } from "./support/policies.ts";
import { auditOf, cancel, countRequests, end, TERMINAL, UNKNOWN_ID } from "./support/scene.ts";

const MINUTE_MS = 60_000;

test("[ours.authzen.request] a submission creates the same request as POST /v1/requests: policy, review and audit", async (t) => {
  const scene = await startAuthzen(t);
  const { server, instance, reviewer } = scene;
  const submission = await submissionFor(scene);
  const context = { ...REFUND.context, business_justification: "The parcel was lost." };
  const requested_access = { requested_until: "2026-01-02T00:00:00Z", emergency: true };
  const body = { ...submission, context, requested_access, unknown: 1 };
  const answer = await submitAccess(scene, body, "one");
  assert.equal(answer.status, 202, answer.text);
  const { task } = answer.json;
  assert.equal(answer.headers.get("location"), task.status_endpoint);
  assert.equal(task.status_endpoint, `${server.url}${TASKS}/${task.id}`);
  assert.equal(task.links.cancel, `${task.status_endpoint}/cancel`);
  const stored = await server.read(instance.token, task.id);
  const { subject, action, resource } = REFUND;
  assert.equal(stored.tool, "orders.refund");
  assert.deepEqual(stored.arguments, REFUND.context.arguments);
  assert.equal(stored.agent_reasoning, "The parcel was lost.");
  assert.equal(stored.timeout, "1h");
  assert.deepEqual(stored.context, {
    region: "eu",
    authzen: {
      subject,
      action,
      resource,
      requested_access,
    },
  });
  assert.equal(task.expires_at, stored.deadline_at);
  const decided = await server.decide(reviewer, task.id, "approve");
  assert.equal(decided.status, 200, decided.text);
  const kinds = (await auditOf(scene, `request:${task.id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["request.opened", "request.resolved"]);
});

test("[ours.authzen.request] the text of the arguments is stored unchanged", async (t) => {
  const scene = await startAuthzen(t);
  const text = `{ "amount" : 1.50, "account": 90071992547409931234, "big": 1E400 }`;
  const question = (denial: string): string =>
    `{"subject":{"type":"user","id":"a"},"action":{"name":"orders.refund"},
      "resource":{"type":"order","id":"1"},"context":{"arguments":${text}}${denial}}`;
  const { context } = await decisionOf(scene, question(""));
  const { binding_token, expires_at } = context.access_request ?? {};
  const denial = `,"denial":${JSON.stringify({ binding_token, expires_at })}`;
  const answer = await submitAccess(scene, question(denial));
  assert.equal(answer.status, 202, answer.text);
  const stored = await scene.server.call("GET", `/v1/requests/${answer.json.task.id}`, {
    token: scene.instance.token,
  });
  assert.ok(stored.text.includes(text), stored.text);
});

test("[ours.authzen.tool] a call of a resource of type tool is submitted, approved and evaluated as that tool", async (t) => {
  const scene = await startAuthzen(t);
  const question = {
    subject: REFUND.subject,
    action: { name: "tools/call" },
    resource: { type: "tool", id: "orders.refund", properties: { arguments: { order: "A-1" } } },
    context: {},
  };
  const { task, result } = (await approvedTask(scene, question)).json;
  const stored = await scene.server.read(scene.instance.token, task.id);
  assert.deepEqual([stored.tool, stored.arguments], ["orders.refund", { order: "A-1" }]);
  const again = await decisionOf(scene, withApproval(question, result?.approval));
  assert.equal(again.decision, true);
  const wipe = { ...question, resource: { ...question.resource, id: "orders.wipe" } };
  assert.equal((await decisionOf(scene, wipe)).context.rule, "no-wipes");
  const bare = { ...question, resource: { type: "tool", id: "orders.get" } };
  assert.equal((await evaluate(scene, bare)).status, 400);
});

test("[ours.authzen.state] the task has the status of the request, and a result only when approved", async (t) => {
  const scene = await startAuthzen(t);
  for (const status of TERMINAL) {
    const { task } = await pendingTask(scene);
    const pending = await readTask(scene, task.id);
    assert.deepEqual(pending.json, { task });
    assert.equal(pending.headers.get("retry-after"), "5");
    const request = await end(scene, { ...task, deadline_at: task.expires_at } as never, status);
    const { json, headers } = await readTask(scene, task.id);
    assert.equal(json.task.status, status);
    assert.equal(json.task.expires_at, undefined);
    assert.equal(headers.get("retry-after"), null);
    const { decided_at, expires_at } = request.decision as never as Record<string, string>;
    const approval = { id: task.id, approved_at: decided_at, approved_until: expires_at };
    const result = status === "approved" ? { mode: "reevaluate", approval } : undefined;
    assert.deepEqual(json.result, result);
  }
});

test("[ours.authzen.state] a policy that changes after the denial decides the submission at once: 201", async (t) => {
  const scene = await startAuthzen(t);
  const [approve, deny] = [await submissionFor(scene), await submissionFor(scene)];
  const policy = (verb: string): string =>
    `version: 1\nrules:\n  - id: r\n    match: { tool: orders.refund }\n    then: ${verb}\n`;
  await enforce(scene.server, policy("approve"));
  const approved = await submitAccess(scene, approve);
  assert.deepEqual([approved.status, approved.json.task.status], [201, "approved"]);
  assert.equal(approved.json.result?.mode, "reevaluate");
  await enforce(scene.server, policy("deny"));
  const denied = await submitAccess(scene, deny);
  assert.deepEqual([denied.status, denied.json.task.status], [201, "denied"]);
  assert.equal(denied.json.result, undefined);
});

test("[ours.authzen.cancel] the agent can cancel a pending task once; a task that ended returns 409", async (t) => {
  const scene = await startAuthzen(t);
  const { task } = await pendingTask(scene);
  const answer = await cancelTask(scene, task.id, { reason: "superseded", comment: "No need." });
  assert.deepEqual([answer.status, answer.json.task.status], [200, "cancelled"]);
  assertProblem(await cancelTask(scene, task.id), 409, "invalid_task_state");
  const approved = await approvedTask(scene);
  assertProblem(await cancelTask(scene, approved.json.task.id), 409, "invalid_task_state");
  const other = await pendingTask(scene);
  assert.equal((await cancelTask(scene, other.task.id, { reason: 1 })).status, 400);
  await cancel(scene.server, scene.instance.token, other.task.id);
  assert.equal((await readTask(scene, other.task.id)).json.task.status, "cancelled");
});

test("[ours.authzen.idempotency] the same key and body return the same task, another body 409 duplicate_request", async (t) => {
  const scene = await startAuthzen(t);
  const submission = await submissionFor(scene);
  const first = await submitAccess(scene, submission, "one");
  const again = await submitAccess(scene, submission, "one");
  assert.deepEqual([again.status, again.json], [202, first.json]);
  const different = { ...submission, requested_access: { emergency: true } };
  assertProblem(await submitAccess(scene, different, "one"), 409, "duplicate_request");
  assert.equal(await countRequests(scene), 1);
});

test("[ours.authzen.idempotency] without a key, one denial creates one request", async (t) => {
  const scene = await startAuthzen(t);
  const submission = await submissionFor(scene);
  const answers = await Promise.all([1, 2, 3, 4].map(() => submitAccess(scene, submission)));
  assert.equal(new Set(answers.map(({ json }) => json.task.id)).size, 1);
  const later = await submitAccess(scene, await submissionFor(scene));
  assert.equal(later.status, 202);
  assert.equal(await countRequests(scene), 2);
});

test("[ours.authzen.idempotency] a retry after the denial expired returns the same task", async (t) => {
  const scene = await startAuthzen(t);
  const submission = await submissionFor(scene);
  const first = await submitAccess(scene, submission, "one");
  scene.clock.advance(11 * MINUTE_MS);
  const again = await submitAccess(scene, submission, "one");
  assert.deepEqual([again.status, again.json.task.id], [202, first.json.task.id]);
  assertProblem(await submitAccess(scene, submission, "two"), 410, "expired_denial");
  const different = { ...submission, requested_access: {} };
  assertProblem(await submitAccess(scene, different, "one"), 409, "duplicate_request");
});

test("[ours.authzen.own] a task of another instance or project returns 404 unknown_task and stays unchanged", async (t) => {
  const scene = await startAuthzen(t);
  const { task } = await pendingTask(scene);
  const sibling = await scene.server.provision(scene.instance.provisioner);
  const foreign = await scene.server.instance("other");
  for (const token of [sibling.credential.token, foreign.token]) {
    const stranger = { ...scene, instance: { ...scene.instance, token } };
    assertProblem(await readTask(stranger, task.id), 404, "unknown_task");
    assertProblem(await cancelTask(stranger, task.id), 404, "unknown_task");
  }
  for (const id of [UNKNOWN_ID, "none"]) {
    assertProblem(await readTask(scene, id), 404, "unknown_task");
  }
  assert.equal((await readTask(scene, task.id)).json.task.status, "pending");
});

test("[ours.authzen.own] the task is also a request of /v1, and of its reviewers", async (t) => {
  const scene = await startAuthzen(t);
  const { task } = await pendingTask(scene);
  const request: ApprovalRequest = await scene.server.read(scene.instance.token, task.id);
  assert.equal(request.status, "pending");
  const listed = await scene.server.call<{ items: readonly { id: string }[] }>(
    "GET",
    "/review/v1/requests",
    { token: scene.reviewer },
  );
  assert.ok(listed.text.includes(task.id), listed.text);
});
