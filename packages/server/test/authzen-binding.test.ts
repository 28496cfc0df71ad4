/** The binding of a submission to its denied evaluation, and what a submission cannot have. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  approvedTask,
  assertProblem,
  decisionOf,
  REFUND,
  startAuthzen,
  submissionFor,
  submitAccess,
  withApproval,
} from "./support/authzen.ts";
import { enforce } from "./support/policies.ts";
import { countRequests, restart } from "./support/scene.ts";

const MINUTE_MS = 60_000;

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

/** No rule can read the actor. */
const READS_ACTOR = `version: 1
rules:
  - id: reads-actor
    match: { tool: orders.refund }
    when: |-
      has(context.authzen.subject.properties) && has(context.authzen.subject.properties.act)
    then: approve
`;

test("[ours.authzen.binding] policies do not read subject.properties.act, and reviewers see it", async (t) => {
  const scene = await startAuthzen(t);
  await enforce(scene.server, READS_ACTOR);
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
