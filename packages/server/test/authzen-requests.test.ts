/** The Access Request and Approval Profile over the requests of the contract. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import {
  approvedTask,
  decisionOf,
  evaluate,
  PROBLEM,
  REFUND,
  readTask,
  startAuthzen,
  submissionFor,
  submitAccess,
  TASKS,
  type TaskAnswer,
  withApproval,
} from "./support/authzen.ts";
import { consumeOnAgentSurface } from "./support/extensions.ts";
import { freeze } from "./support/freezes.ts";
import { enforce } from "./support/policies.ts";
import {
  auditOf,
  cancel,
  countRequests,
  end,
  restart,
  type Scene,
  TERMINAL,
  UNKNOWN_ID,
} from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";

const MINUTE_MS = 60_000;

function assertProblem(answer: Answer<TaskAnswer>, status: number, type: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
  assert.equal(answer.json.type, PROBLEM + type, answer.text);
}

function cancelTask({ server, instance }: Scene, id: string, body?: object) {
  const call = { token: instance.token, ...(body === undefined ? {} : { body }) };
  return server.call<TaskAnswer>("POST", `${TASKS}/${id}/cancel`, call);
}

async function pendingTask(scene: Scene): Promise<TaskAnswer> {
  const answer = await submitAccess(scene, await submissionFor(scene));
  assert.equal(answer.status, 202, answer.text);
  return answer.json;
}

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

test("[ours.authzen.binding] a submission must have the unchanged denial of the same call", async (t) => {
  const scene = await startAuthzen(t);
  const submission = await submissionFor(scene);
  const denial = submission.denial as Record<string, string>;
  const { denial: _, ...without } = submission;
  assertProblem(await submitAccess(scene, without), 400, "not_requestable");
  const token = denial.binding_token ?? "";
  const flipped = token.slice(0, -1) + (token.endsWith("A") ? "B" : "A");
  const otherTime = new Date(scene.clock.now() + 5 * MINUTE_MS).toISOString();
  const changes: readonly object[] = [
    { denial: { ...denial, binding_token: flipped } },
    { denial: { ...denial, binding_token: undefined, evaluation_id: "e" } },
    { denial: { ...denial, binding_token: "eyJhbGciOiJub25lIn0.e30." } },
    { denial: { ...denial, expires_at: undefined } },
    { denial: { ...denial, expires_at: otherTime } },
    { denial: {} },
    { subject: { ...REFUND.subject, id: "bob@example.com" } },
    { subject: { ...REFUND.subject, properties: { role: "admin" } } },
    { action: { name: "orders.cancel" } },
    { action: { ...REFUND.action, properties: { fast: true } } },
    { resource: { type: "order", id: "A-2" } },
    { context: { ...REFUND.context, arguments: { order: "A-1", amount: 99 } } },
    { context: { arguments: REFUND.context.arguments } },
    { context: { ...REFUND.context, region: "us" } },
  ];
  for (const change of changes) {
    const answer = await submitAccess(scene, { ...submission, ...change });
    assertProblem(answer, 400, "invalid_denial_binding");
  }
  assert.equal(await countRequests(scene), 0);
});

test("[ours.authzen.binding] a denial is valid for 10 minutes, also after a restart, and only for its instance", async (t) => {
  const scene = await startAuthzen(t);
  const submission = await submissionFor(scene);
  const sibling = await scene.server.provision(scene.instance.provisioner);
  const token = sibling.credential.token;
  const stranger = { ...scene, instance: { ...scene.instance, token } };
  assertProblem(await submitAccess(stranger, submission), 400, "invalid_denial_binding");
  scene.clock.advance(10 * MINUTE_MS - 1);
  const after = await restart(t, scene, { authzen: "true" });
  assert.equal((await submitAccess(after, submission, "in time")).status, 202);
  scene.clock.advance(1);
  assertProblem(await submitAccess(after, submission, "late"), 410, "expired_denial");
});

test("[ours.authzen.binding] subject.properties.act may be omitted, other members may be added to the context", async (t) => {
  const scene = await startAuthzen(t);
  const act = { sub: "agent-7", iss: "https://idp.example.com" };
  const submission = await submissionFor(scene, {
    ...REFUND,
    subject: { ...REFUND.subject, properties: { act } },
  });
  const context = { ...REFUND.context, ticket: "T-1", time: "now" };
  const answer = await submitAccess(scene, { ...submission, subject: REFUND.subject, context });
  assert.equal(answer.status, 202, answer.text);
  const stored = await scene.server.read(scene.instance.token, answer.json.task.id);
  const { subject, action, resource } = REFUND;
  const added_context = { ticket: "T-1" };
  const authzen = { subject, action, resource, added_context };
  assert.deepEqual(stored.context, { region: "eu", authzen });
});

/** Production needs two reviewers. No rule can read the actor. */
const TWO_FOR_PRODUCTION = `version: 1
rules:
  - id: production
    match: { tool: orders.refund }
    when: has(context.env) && context.env == "prod"
    then: ask
    ask: { quorum: 2 }
  - id: reads-actor
    match: { tool: orders.refund }
    when: |-
      has(context.authzen.subject.properties) && has(context.authzen.subject.properties.act)
    then: approve
`;

test("[ours.authzen.reevaluate] an approval by one reviewer permits no question with a member that policies read and the request did not have", async (t) => {
  const scene = await startAuthzen(t);
  await enforce(scene.server, TWO_FOR_PRODUCTION);
  const submission = await submissionFor(scene);
  const added = { ...REFUND.context, env: "prod" };
  const submitted = await submitAccess(scene, { ...submission, context: added });
  await scene.server.decide(scene.reviewer, submitted.json.task.id, "approve");
  const { rule } = (await decisionOf(scene, { ...REFUND, context: added })).context;
  assert.equal(rule, "production");
  const { subject, action, resource } = REFUND;
  const { id } = await scene.server.submit(scene.instance.token, {
    tool: "orders.refund",
    arguments: REFUND.context.arguments,
    context: { region: "eu", authzen: { subject, action, resource } },
  });
  await scene.server.decide(scene.reviewer, id, "approve");
  for (const approval of [{ id: submitted.json.task.id }, { id }]) {
    assert.equal((await decisionOf(scene, withApproval(REFUND, approval))).decision, true);
    for (const context of [added, { ...added, region: "us" }, { ...REFUND.context, note: null }]) {
      const question = withApproval({ ...REFUND, context }, approval);
      const { decision, context: answer } = await decisionOf(scene, question);
      assert.deepEqual([decision, answer.reason], [false, "out_of_scope"]);
    }
  }
});

test("[ours.authzen.binding] policies do not read subject.properties.act, and reviewers see it", async (t) => {
  const scene = await startAuthzen(t);
  await enforce(scene.server, TWO_FOR_PRODUCTION);
  const act = { sub: "agent-7" };
  const acting = { ...REFUND, subject: { ...REFUND.subject, properties: { act } } };
  const { json } = await approvedTask(scene, acting);
  const stored = await scene.server.read(scene.instance.token, json.task.id);
  const { subject, action, resource } = REFUND;
  assert.deepEqual(stored.context, { region: "eu", authzen: { subject, action, resource, act } });
  for (const question of [acting, REFUND]) {
    const { decision } = await decisionOf(scene, withApproval(question, json.result?.approval));
    assert.equal(decision, true);
  }
});

/** Approves calls with a member that an evaluation cannot have. */
const SUBMITTED_MEMBERS = `version: 1
rules:
  - id: submitted
    match: { tool: orders.refund }
    when: |-
      has(context.authzen.act) || has(context.authzen.added_context) ||
      has(context.authzen.client) || has(context.authzen.requested_access)
    then: approve
`;

test("[ours.authzen.binding] a rule cannot approve because of a member that only a submission has", async (t) => {
  const scene = await startAuthzen(t);
  await enforce(scene.server, SUBMITTED_MEMBERS);
  const properties = { act: { sub: "agent-7" } };
  const submission = await submissionFor(scene, {
    ...REFUND,
    subject: { ...REFUND.subject, properties },
  });
  const answer = await submitAccess(scene, {
    ...submission,
    context: { ...REFUND.context, ticket: "T-1" },
    client: { name: "shop" },
    requested_access: { emergency: true },
  });
  assert.equal(answer.status, 202, answer.text);
  const { subject, action, resource } = REFUND;
  const authzen = { subject, action, resource, requested_access: { emergency: true } };
  const { id } = await scene.server.submit(scene.instance.token, {
    tool: "orders.refund",
    arguments: REFUND.context.arguments,
    context: { region: "eu", authzen },
  });
  assert.equal((await scene.server.read(scene.instance.token, id)).status, "pending");
});

test("[ours.authzen.unsupported] bundles, callbacks and other actors are rejected and create nothing", async (t) => {
  const scene = await startAuthzen(t);
  const submission = await submissionFor(scene);
  const endpoint = "https://169.254.169.254/";
  const rejected: readonly (readonly [object, number])[] = [
    [{ items: [] }, 400],
    [{ callback: { endpoint } }, 400],
    [{ client: { actor: { id: "someone-else" } } }, 403],
    [{ client: { actor: { id: scene.instance.id, act: { sub: "a", iss: "b" } } } }, 403],
    [{ client: "agent" }, 400],
    [{ requested_access: [] }, 400],
  ];
  for (const [change, status] of rejected) {
    const answer = await submitAccess(scene, { ...submission, ...change });
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers.get("content-type"), "application/problem+json");
    assert.equal(answer.json.type, "about:blank");
  }
  assert.equal(await countRequests(scene), 0);
  const actor = { id: scene.instance.id };
  const own = await submitAccess(scene, { ...submission, client: { name: "shop", actor } });
  assert.equal(own.status, 202, own.text);
});

test("[ours.authzen.reevaluate] with the approval the same call is true until approved_until, and false without it", async (t) => {
  const scene = await startAuthzen(t);
  const { json } = await approvedTask(scene);
  const approval = json.result?.approval;
  const question = withApproval(REFUND, approval);
  const { decision, context } = await decisionOf(scene, question);
  assert.equal(decision, true);
  assert.equal(context.reason, "request_approved");
  const { id, approved_until } = approval ?? {};
  assert.deepEqual(context.approval, { id, approved_until });
  assert.equal((await decisionOf(scene, REFUND)).decision, false);
  const extended = { ...REFUND, context: { ...REFUND.context, time: "later", reason: "again" } };
  assert.equal((await decisionOf(scene, withApproval(extended, approval))).decision, true);
  scene.clock.advance(Date.parse(approved_until ?? "") - scene.clock.now() - 1);
  assert.equal((await decisionOf(scene, question)).decision, true);
  scene.clock.advance(1);
  const late = await decisionOf(scene, question);
  assert.equal(late.decision, false);
  assert.deepEqual(
    [late.context.reason, late.context.next_action],
    ["approval_expired", "request"],
  );
  assert.ok(late.context.access_request);
});

test("[ours.authzen.reevaluate] an approval of another call, instance or state approves nothing", async (t) => {
  const scene = await startAuthzen(t);
  const approval = (await approvedTask(scene)).json.result?.approval;
  const others: readonly (typeof REFUND | object)[] = [
    { ...REFUND, subject: { type: "user", id: "bob" } },
    { ...REFUND, action: { name: "orders.cancel" } },
    { ...REFUND, resource: { type: "order", id: "A-2" } },
    { ...REFUND, context: { ...REFUND.context, arguments: { order: "A-1", amount: 13 } } },
    { ...REFUND, context: { arguments: REFUND.context.arguments } },
    { ...REFUND, context: { ...REFUND.context, region: "us" } },
    { ...REFUND, context: { ...REFUND.context, env: "prod" } },
  ];
  for (const other of others) {
    const question = withApproval(other as typeof REFUND, approval);
    const { decision, context } = await decisionOf(scene, question);
    assert.equal(decision, false, JSON.stringify(other));
    assert.deepEqual([context.reason, context.next_action], ["out_of_scope", "request"]);
    assert.ok(context.access_request);
  }
  const pending = await pendingTask(scene);
  const sibling = await scene.server.provision(scene.instance.provisioner);
  const token = sibling.credential.token;
  const stranger = { ...scene, instance: { ...scene.instance, token } };
  const unverifiable: readonly (readonly [Scene, unknown])[] = [
    [scene, { id: UNKNOWN_ID }],
    [scene, { id: pending.task.id }],
    [scene, { id: 7 }],
    [scene, "text"],
    [scene, null],
    [scene, { ...approval, state: "eyJhbGciOiJub25lIn0.e30." }],
    [stranger, approval],
  ];
  for (const [caller, reference] of unverifiable) {
    const { decision, context } = await decisionOf(caller, withApproval(REFUND, reference));
    assert.equal(decision, false, JSON.stringify(reference));
    assert.deepEqual([context.reason, context.next_action], ["approval_unverifiable", "none"]);
    assert.equal(context.access_request, undefined);
  }
});

test("[ours.authzen.reevaluate] a request that names another tool in context.authzen approves only its own call", async (t) => {
  const scene = await startAuthzen(t);
  const { subject, action, resource } = REFUND;
  const { id } = await scene.server.submit(scene.instance.token, {
    tool: "orders.note",
    arguments: REFUND.context.arguments,
    context: { region: "eu", authzen: { subject, action, resource } },
  });
  await scene.server.decide(scene.reviewer, id, "approve");
  const { decision } = await decisionOf(scene, withApproval(REFUND, { id }));
  assert.equal(decision, false);
});

test("[ours.authzen.reevaluate] a consumed approval, a denying policy and a freeze make it false", async (t) => {
  const scene = await startAuthzen(t);
  const approval = (await approvedTask(scene)).json.result?.approval;
  const question = withApproval(REFUND, approval);
  assert.equal((await decisionOf(scene, question)).decision, true);
  assert.equal((await consumeOnAgentSurface(scene, approval?.id ?? "", "once")).status, 200);
  const consumed = await decisionOf(scene, question);
  assert.deepEqual([consumed.decision, consumed.context.reason], [false, "approval_expired"]);

  const next = withApproval(REFUND, (await approvedTask(scene)).json.result?.approval);
  assert.equal((await decisionOf(scene, next)).decision, true);
  const operator = await scene.server.token({ kind: "reviewer", name: "op", role: "operator" });
  await enforce(
    scene.server,
    "version: 1\nrules:\n  - id: closed\n    match: { tool: orders.refund }\n    then: deny\n",
  );
  const denied = await decisionOf(scene, next);
  const { reason, next_action, access_request } = denied.context;
  assert.equal(denied.decision, false);
  assert.deepEqual([reason, next_action, access_request], ["policy_denied", "none", undefined]);
  await enforce(scene.server, "version: 1\nrules: []\n");
  assert.equal((await decisionOf(scene, next)).decision, true);
  assert.equal((await freeze(scene.server, operator, { scope: "project" })).status, 201);
  const frozen = await decisionOf(scene, next);
  assert.deepEqual([frozen.decision, frozen.context.reason], [false, "policy_denied"]);
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
