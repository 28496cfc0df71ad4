/**
 * Approvals by bots, and votes that are taken back.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Requirement } from "../src/policy/rule.ts";
import type { Signal } from "../src/wake/wake.ts";
import { assertRefused } from "./support/envelope.ts";
import { submitRequiring } from "./support/requirements.ts";
import { peopleOf } from "./support/reviewers.ts";
import { auditOf, cancel, startScene } from "./support/scene.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, clock, instance } = scene;
const people = peopleOf(scene);
const [ana, ben, cleo] = await Promise.all(
  ["ana", "ben", "cleo"].map((name) => people.token(name)),
);
const bot = await people.token("bot", { isBot: true, groups: ["ci"] });

async function asked(requirement: Partial<Requirement>, judgement: object = {}): Promise<string> {
  return (await submitRequiring(scene, requirement, judgement)).id;
}

async function show(id: string, token = ana): Promise<ReviewedRequest> {
  const path = `/review/v1/requests/${id}`;
  return (await server.call<ReviewedRequest>("GET", path, { token })).json;
}

test("[ours.people.bots] without a rule that lets bots approve, a bot is rejected with the reason and may deny", async () => {
  const requests = [
    (await server.submit(instance.token)).id,
    await asked({ from: [["group:ci"]] }),
    await asked({ from: [["reviewer:bot"]] }),
    await asked({ quorum: 2 }),
    await asked({ bots: true }, { errors: [{ rule: "other", message: "failed" }] }),
    await asked({ bots: true }, { because: "inexact" }),
  ];
  for (const id of requests) {
    const answer = await server.decide(bot, id, "approve");
    assertRefused(answer, 403, "forbidden");
    const { may_decide, requirement } = await show(id, bot);
    assert.deepEqual(may_decide, { approve: false, deny: true, reason: answer.json.error.message });
    assert.match(may_decide.reason ?? "", /^Bots cannot approve this call/);
    assert.equal(requirement.bots, false);
    assert.equal((await server.decide(bot, id, "deny")).json.status, "denied");
  }
});

test("[ours.people.bots] where a rule lets them, bots count as people do", async () => {
  const alone = await asked({ bots: true, from: [["group:ci"]] });
  assert.equal((await show(alone, bot)).requirement.bots, true);
  assert.equal((await server.decide(bot, alone, "approve")).json.status, "approved");
  const together = await asked({ bots: true, quorum: 2 });
  assert.equal((await server.decide(bot, together, "approve")).json.status, "pending");
  assert.equal((await server.decide(ana ?? "", together, "approve")).json.status, "approved");
});

test("[ours.people.bots] a grant by a bot answers only where bots count", async (t) => {
  const other = await startScene(t);
  const own = peopleOf(other);
  const token = await own.token("bot", { isBot: true });
  const body = { instance_id: other.instance.id, tool: "deploy" };
  const made = await other.server.call("POST", "/review/v1/grants", { token, body });
  assert.equal(made.status, 201, made.text);
  assert.equal((await other.server.submit(other.instance.token)).status, "pending");
  const editor = await own.token("editor", { role: "editor" });
  const rule = "{ id: a, match: { tool: deploy }, then: ask, ask: { bots: true } }";
  const policy = { source: `version: 1\nrules: [${rule}]\n`, expected_number: 0 };
  const published = { token: editor, body: policy };
  const answer = await other.server.call("POST", "/review/v1/policy", published);
  assert.equal(answer.status, 201, answer.text);
  assert.equal((await other.server.submit(other.instance.token)).status, "approved");
});

test("[ours.verdict.withdrawn] a vote can be withdrawn once, and cast again", async () => {
  const id = await asked({ quorum: 2 });
  await server.decide(ana ?? "", id, "approve", { note: "yes" });
  const first = await people.withdraw(ana ?? "", id);
  assert.deepEqual([first.status, first.json], [200, { withdrawn: true }]);
  assert.deepEqual((await people.withdraw(ana ?? "", id)).json, { withdrawn: false });
  assert.deepEqual((await show(id)).votes, []);
  assert.equal((await server.decide(ben ?? "", id, "approve")).json.status, "pending");
  const again = await server.decide(ana ?? "", id, "approve", { note: "yes" });
  assert.equal(again.json.status, "approved");
  const kinds = (await auditOf(scene, `request:${id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds.slice(1), [
    "vote.cast",
    "vote.withdrawn",
    "vote.cast",
    "vote.cast",
    "request.resolved",
  ]);
});

test("[ours.verdict.withdrawn] a reviewer cannot withdraw the vote of another reviewer", async () => {
  const id = await asked({ quorum: 2 });
  await server.decide(ana ?? "", id, "approve");
  assert.deepEqual((await people.withdraw(ben ?? "", id)).json, { withdrawn: false });
  assert.equal((await show(id)).votes.length, 1);
  const other = await people.token("stranger", { project: "elsewhere" });
  assertRefused(await people.withdraw(other, id), 404, "not_found");
});

test("[ours.verdict.withdrawn] a vote of a resolved request stays with 409 already_terminal; without a vote the answer is withdrawn: false", async () => {
  const [decided, cancelled, expired] = [
    await asked({ quorum: 2 }),
    await asked({ quorum: 2 }),
    await asked({ quorum: 2 }),
  ];
  for (const id of [decided, cancelled, expired]) await server.decide(ana ?? "", id, "approve");
  await server.decide(ben ?? "", decided, "approve");
  await cancel(server, instance.token, cancelled);
  clock.advance(3_600_000);
  for (const [id, status] of [
    [decided, "approved"],
    [cancelled, "cancelled"],
    [expired, "expired"],
  ] as const) {
    const answer = await people.withdraw(ana ?? "", id);
    assertRefused(answer, 409, "already_terminal");
    assert.match(answer.json.error.message, new RegExp(`already ${status}`));
    assert.deepEqual((await people.withdraw(cleo ?? "", id)).json, { withdrawn: false });
    assert.equal((await show(id)).status, status);
  }
});

test("[ours.verdict.withdrawn] a token withdraws only votes that its scopes include", async () => {
  const full = await people.token("narrowed", { groups: ["dba", "ops"] });
  const dba = await people.token("narrowed", { scopes: ["decide:dba", "read"] });
  const reader = await people.token("narrowed", { scopes: ["read"] });
  const id = await asked({ from: [["group:dba"], ["group:ops"]], quorum: 3 });
  await server.decide(full, id, "approve");
  for (const token of [dba, reader]) {
    assertRefused(await people.withdraw(token, id), 403, "forbidden");
  }
  assert.deepEqual((await people.withdraw(full, id)).json, { withdrawn: true });
  await server.decide(dba, id, "approve");
  assert.deepEqual((await people.withdraw(dba, id)).json, { withdrawn: true });
});

test("[ours.verdict.withdrawn] of a concurrent deciding approval and withdrawal exactly one applies", async () => {
  for (let round = 0; round < 20; round++) {
    const id = await asked({ quorum: 2 });
    await server.decide(ana ?? "", id, "approve");
    const [decided, withdrawn] = await Promise.all([
      server.decide(ben ?? "", id, "approve"),
      people.withdraw(ana ?? "", id),
    ]);
    assert.equal(decided.status, 200);
    if (withdrawn.status === 200) assert.equal(decided.json.status, "pending");
    else assert.equal(decided.json.status, "approved");
    const votes = (await show(id)).votes.length;
    assert.equal(votes, withdrawn.status === 200 ? 1 : 2);
  }
});

test("[ours.verdict.wakes] a vote that is cast or withdrawn wakes its watchers; withdrawing no vote does not", async () => {
  const signals: Signal[] = [];
  const leave = server.provider.context.wake.onSignal((signal) => {
    if (signal.kind === "voted") signals.push(signal);
  });
  const id = await asked({ quorum: 2 });
  await server.decide(ana ?? "", id, "approve");
  assert.deepEqual(
    signals.map((signal) => "requestId" in signal && signal.requestId),
    [id],
  );
  await people.withdraw(ana ?? "", id);
  await people.withdraw(ana ?? "", id);
  assert.equal(signals.length, 2);
  leave();
});
