/** Calls of a tool whose definition has changed: a person decides about them. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { grantEdits } from "./support/grants.ts";
import { enforce, FLOOR, judgementOf, policyOf } from "./support/policies.ts";
import { peopleOf } from "./support/reviewers.ts";
import { startScene } from "./support/scene.ts";
import { newTestProject } from "./support/test-projects.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const CHANGE = { before: '{"name":"edit"}', after: '{"name":"edit","title":"Edit"}' };
const APPROVE = "{ id: edits, match: { tool: edit }, then: approve, note: Safe., valid_for: 2m }";
const DENY = "{ id: drops, match: { tool: drop }, then: deny }";
const REASON = "tool_definition_change";

const scene = await startScene({ after });
const { server } = scene;

function callOf(tool: string, change: unknown): object {
  return { tool, arguments: { path: "a" }, context: { tool_definition_change: change } };
}

test("[ours.policy.tool-change] a call of a changed tool waits, although the policy approves the tool", async () => {
  const { project, instance } = await newTestProject(server);
  await enforce(server, policyOf(APPROVE, DENY), project);
  assert.equal((await server.submit(instance.token, { tool: "edit" })).status, "approved");
  for (const change of [CHANGE, {}, "", false, null]) {
    const { id, status } = await server.submit(instance.token, callOf("edit", change));
    assert.equal(status, "pending");
    const { verb, because, note, requirement } = await judgementOf(server, id);
    assert.deepEqual([verb, because, note], ["ask", REASON, undefined]);
    assert.deepEqual([requirement?.grants, requirement?.bots], [false, false]);
  }
  assert.equal((await server.submit(instance.token, callOf("drop", CHANGE))).status, "denied");
});

test("[ours.policy.tool-change] no grant approves a call of a changed tool, without a policy and with one", async () => {
  const own = await newTestProject(server);
  const { project, instance, reviewer } = own;
  await grantEdits(server, own);
  assert.equal((await server.submit(instance.token, { tool: "edit" })).status, "approved");
  const first = await server.submit(instance.token, callOf("edit", CHANGE));
  assert.equal(first.status, "pending");
  assert.equal((await judgementOf(server, first.id)).because, REASON);
  await enforce(server, policyOf("{ id: q, match: { tool: edit }, then: ask }"), project);
  assert.equal((await server.submit(instance.token, { tool: "edit" })).status, "approved");
  const second = await server.submit(instance.token, callOf("edit", CHANGE));
  assert.equal(second.status, "pending");
  assert.equal((await judgementOf(server, second.id)).because, "q");
  await enforce(server, policyOf("{ id: q, match: { tool: deploy }, then: ask }"), project);
  const third = await server.submit(instance.token, callOf("edit", CHANGE));
  assert.equal((await judgementOf(server, third.id)).because, REASON);
  await server.decide(reviewer, third.id, "approve");
  assert.equal((await server.read(instance.token, third.id)).status, "approved");
});

test("[ours.policy.tool-change] a rule with ask keeps its requirement, and no bot approves", async (t) => {
  const own = await startScene(t);
  const people = peopleOf(own);
  const bot = await people.token("bot", { isBot: true });
  const ana = await people.token("ana");
  const ben = await people.token("ben");
  const ask = "{ quorum: 2, bots: true, confirm: match }";
  const rule = `{ id: q, match: { tool: edit }, then: ask, ask: ${ask}, note: Two people. }`;
  await enforce(own.server, policyOf(rule));
  const { id } = await own.server.submit(own.instance.token, callOf("edit", CHANGE));
  const confirmation = id.slice(-4);
  assertRefused(await own.server.decide(bot, id, "approve", { confirmation }), 403, "forbidden");
  const { json } = await own.server.call<ReviewedRequest>("GET", `/review/v1/requests/${id}`, {
    token: ana,
  });
  const { quorum, bots, grants, confirm } = json.requirement;
  assert.deepEqual([quorum, bots, grants, confirm], [2, false, false, { kind: "match" }]);
  assert.deepEqual([json.policy.because, json.policy.note], ["q", "Two people."]);
  for (const token of [ana, ben]) await own.server.decide(token, id, "approve", { confirmation });
  assert.equal((await own.server.read(own.instance.token, id)).status, "approved");
});

test("[ours.policy.tool-change] a policy that cannot be read does not ease the requirement", async (t) => {
  const own = await startScene(t);
  await enforce(own.server, "version: 99\n", FLOOR);
  await enforce(own.server, policyOf(APPROVE));
  const { id } = await own.server.submit(own.instance.token, callOf("edit", CHANGE));
  const { verb, because, requirement } = await judgementOf(own.server, id);
  assert.deepEqual([verb, because, requirement?.grants], ["ask", "error", false]);
});
