/** Claims: a reviewer shows others that they review a request, without any further right. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { callAs, newPerson, type SignedInPerson } from "./support/people.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { auditOf, startScene } from "./support/scene.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const MIN = 60_000;

interface Claim {
  readonly reviewer: string;
  readonly own: boolean;
  readonly at: string;
  readonly until: string;
}

async function startClaimScene(t: TestContext) {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const ana = await newPerson(server, { login: "ana" });
  const ben = await newPerson(server, { login: "ben" });
  const { id } = await server.submit(instance.token);
  return { ...scene, ana, ben, id };
}

type ClaimScene = Awaited<ReturnType<typeof startClaimScene>>;

async function claim({ server, id }: ClaimScene, person: SignedInPerson, body: object = {}) {
  return callAs<{ claimed: boolean }>(server, person, "POST", `/requests/${id}/claim`, { body });
}

async function shown({ server, id }: ClaimScene, person: SignedInPerson) {
  const answer = await callAs<ReviewedRequest & { readonly claim?: Claim }>(
    server,
    person,
    "GET",
    `/requests/${id}`,
  );
  return answer.json;
}

test("[ours.claim.visible] one reviewer claims a request, and others see it", async (t) => {
  const scene = await startClaimScene(t);
  const { server, ana, ben } = scene;
  assert.deepEqual((await claim(scene, ana)).json, { claimed: true });
  const { claim: seen } = await shown(scene, ben);
  assert.equal(seen?.reviewer, "ana");
  assert.equal(seen?.own, false);
  assert.equal(Date.parse(seen?.until ?? "") - Date.parse(seen?.at ?? ""), 10 * MIN);
  assert.equal((await shown(scene, ana)).claim?.own, true);
  const listed = await callAs<{ requests: { claim?: Claim }[] }>(server, ben, "GET", "/requests");
  assert.equal(listed.json.requests[0]?.claim?.reviewer, "ana");
});

test("[ours.claim.visible] a claim of another reviewer stays, unless it is taken over", async (t) => {
  const scene = await startClaimScene(t);
  const { ana, ben, server, id } = scene;
  await claim(scene, ana);
  assert.deepEqual((await claim(scene, ben)).json, { claimed: false });
  assert.equal((await shown(scene, ben)).claim?.reviewer, "ana");
  assert.deepEqual((await claim(scene, ben, { take_over: true })).json, { claimed: true });
  assert.equal((await shown(scene, ana)).claim?.reviewer, "ben");
  const entries = await auditOf({ server }, `request:${id}`);
  const taken = entries.filter(({ kind }) => kind === "request.claimed").at(-1);
  assert.match(String(taken?.detail.in_place_of), /^reviewer:/);
});

test("[ours.claim.right] every reviewer who may decide still may", async (t) => {
  const scene = await startClaimScene(t);
  const { server, ana, reviewer, id } = scene;
  await claim(scene, ana);
  assert.equal((await server.decide(reviewer, id, "approve")).status, 200);
  assert.equal((await shown(scene, ana)).claim, undefined);
  assert.equal((await claim(scene, ana)).status, 409);
});

test("[ours.claim.right] a reviewer who may not decide the request cannot claim it", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const rule = '{ id: r, match: { tool: "*" }, then: ask, ask: { from: group:dba } }';
  await enforce(server, policyOf(rule));
  const ana = await newPerson(server, { login: "ana" });
  const { id } = await server.submit(instance.token);
  const path = `/requests/${id}/claim`;
  assert.equal((await callAs(server, ana, "POST", path, { body: {} })).status, 403);
  const viewer = await newPerson(server, { login: "v", role: "viewer", groups: ["dba"] });
  assert.equal((await callAs(server, viewer, "POST", path, { body: {} })).status, 403);
});

test("[ours.claim.ends] a claim ends after ten minutes, by hand, and when its reviewer is disabled", async (t) => {
  const scene = await startClaimScene(t);
  const { server, clock, ana, ben, id } = scene;
  await claim(scene, ana);
  clock.advance(10 * MIN - 1);
  assert.equal((await shown(scene, ben)).claim?.reviewer, "ana");
  clock.advance(1);
  assert.equal((await shown(scene, ben)).claim, undefined);
  await claim(scene, ana);
  const path = `/requests/${id}/claim`;
  const byOther = await callAs(server, ben, "DELETE", path);
  assert.deepEqual(byOther.json, { released: false });
  assert.deepEqual((await callAs(server, ana, "DELETE", path)).json, { released: true });
  assert.equal((await shown(scene, ben)).claim, undefined);
  await claim(scene, ana);
  const { store } = server.provider.context;
  const disable = "update person set disabled_at = 1 where id = $1";
  await store.transact((tx) => tx.run(disable, [ana.id]));
  assert.equal((await shown(scene, ben)).claim, undefined);
});

test("[ours.claim.handed] a reviewer hands a claim over to another one, who can release it", async (t) => {
  const scene = await startClaimScene(t);
  const { server, ana, ben, id } = scene;
  type Listed = { reviewers: { id: string; name: string }[] };
  const { reviewers } = (await callAs<Listed>(server, ana, "GET", "/reviewers")).json;
  const idOf = (name: string) => reviewers.find((one) => one.name === name)?.id;
  const give = (from: SignedInPerson, to: string | undefined) =>
    callAs(server, from, "POST", `/requests/${id}/claim/hand-over`, { body: { reviewer_id: to } });
  assert.deepEqual((await give(ana, idOf("ben"))).json, { handed_over: false });
  await claim(scene, ana);
  assert.deepEqual((await give(ben, idOf("ana"))).json, { handed_over: false });
  assert.deepEqual((await give(ana, idOf("ben"))).json, { handed_over: true });
  assert.equal((await shown(scene, ana)).claim?.reviewer, "ben");
  assert.equal((await shown(scene, ben)).claim?.own, true);
  const entries = await auditOf({ server }, `request:${id}`);
  const handed = entries.find(({ kind }) => kind === "request.handed_over");
  assert.equal(handed?.actor, `reviewer:${idOf("ana")}`);
  assert.deepEqual(handed?.detail, { to: `reviewer:${idOf("ben")}` });
  const released = await callAs(server, ben, "DELETE", `/requests/${id}/claim`);
  assert.deepEqual(released.json, { released: true });
});

test("[ours.claim.handed] a claim is not handed over to the owner or to a reviewer who may not decide", async (t) => {
  const scene = await startClaimScene(t);
  const { server, ana, id } = scene;
  await newPerson(server, { login: "viv", role: "viewer" });
  await newPerson(server, { login: "eve", project: "elsewhere" });
  await claim(scene, ana);
  const { store } = server.provider.context;
  const rows = await store.all("select id, name from reviewer where name in ('ana', 'viv', 'eve')");
  assert.equal(rows.length, 3);
  for (const { id: to } of rows) {
    const body = { reviewer_id: to as string };
    const answer = await callAs(server, ana, "POST", `/requests/${id}/claim/hand-over`, { body });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /reviewer_id/);
  }
  assert.equal((await shown(scene, ana)).claim?.own, true);
});

test("[ours.claim.visible] of two claims at the same time, one wins", async (t) => {
  const scene = await startClaimScene(t);
  const answers = await Promise.all([claim(scene, scene.ana), claim(scene, scene.ben)]);
  const won = answers.filter(({ json }) => json.claimed);
  assert.equal(won.length, 1);
});
