/** Evaluations with a reference to an approval, by the Access Request and Approval Profile. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  approvedTask,
  decisionOf,
  pendingTask,
  REFUND,
  startAuthzen,
  submissionFor,
  submitAccess,
  withApproval,
} from "./support/authzen.ts";
import { consumeOnAgentSurface } from "./support/extensions.ts";
import { freeze } from "./support/freezes.ts";
import { enforce } from "./support/policies.ts";
import { type Scene, UNKNOWN_ID } from "./support/scene.ts";

/** Production needs two reviewers. */
const TWO_FOR_PRODUCTION = `version: 1
rules:
  - id: production
    match: { tool: orders.refund }
    when: has(context.env) && context.env == "prod"
    then: ask
    ask: { quorum: 2 }
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
