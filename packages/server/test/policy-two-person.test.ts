/** Policy that takes two people: who proposes what, and who may publish it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { releaseProposal } from "../src/index.ts";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson } from "./support/people.ts";
import {
  policySaying,
  propose,
  publish,
  publishProposal,
  readProposal,
  requireTwo,
  rollBack,
  showPolicy,
  startPolicyScene,
  TWO_PERSON,
  twoPerson,
  type WireProposal,
} from "./support/publishing.ts";
import { auditOf } from "./support/scene.ts";

test("[ours.policy.two-person.publish] a policy that takes two people is proposed by one and published by the other, byte for byte", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator, clock } = scene;
  await requireTwo(server, editor);
  assert.equal((await showPolicy(server, editor)).two_person, true);
  const source = twoPerson(policySaying("approve", "read.*"));
  const alone = await publish(server, editor, source, 1);
  assert.deepEqual([alone.status, alone.json.error.code], [403, "forbidden"]);
  assert.match(alone.json.error.message, /requires two people\. Propose it/);

  const proposed = await propose(server, editor, source, 1, { note: "Reads need no reviewer." });
  assert.equal(proposed.status, 201, proposed.text);
  const { id, proposed_by } = proposed.json;
  assert.deepEqual(await readProposal(server, operator, id), {
    id,
    scope: "project",
    state: "open",
    base_number: 1,
    sha256: proposed.json.sha256,
    note: "Reads need no reviewer.",
    tests: 1,
    proposed_by,
    proposer: "Ed",
    source,
    proposed_at: new Date(clock.now()).toISOString(),
  });
  const own = await publishProposal(server, editor, id);
  assert.equal(own.status, 403, own.text);
  assert.match(
    own.json.error.message,
    /^Publishing .* Another person must publish your proposal\.$/,
  );
  assert.equal((await readProposal(server, editor, id)).refusal, own.json.error.message);

  const published = await publishProposal(server, operator, id);
  assert.equal(published.status, 201, published.text);
  const { number, sha256, publisher, proposer, note } = published.json;
  assert.deepEqual([number, publisher, proposer], [2, "Olga", "Ed"]);
  assert.deepEqual([sha256, published.json.source], [proposed.json.sha256, source]);
  assert.equal((await readProposal(server, editor, id)).state, "published");
  const [entry] = await auditOf(scene, "policy:2");
  assert.deepEqual([entry?.kind, entry?.actor], ["policy.published", published.json.published_by]);
  assert.deepEqual(entry?.detail, {
    number: 2,
    sha256,
    note,
    two_person: "required",
    proposal: id,
    proposed_by,
  });
  const kinds = (await auditOf(scene, `proposal:${id}`)).map(({ kind, actor }) => [kind, actor]);
  assert.deepEqual(kinds, [["policy.proposed", proposed_by]]);
});

test("[ours.policy.two-person.off] giving the requirement up takes two people as well, by a new version and by going back to one from before it", async (t) => {
  const { server, editor, operator } = await startPolicyScene(t);
  const plain = policySaying("deny", "a");
  await publish(server, editor, plain, 0);
  await publish(server, editor, TWO_PERSON, 1);
  assert.equal((await publish(server, editor, policySaying("deny", "b"), 2)).status, 403);
  assert.equal((await publish(server, operator, plain, 2)).status, 403);
  assert.equal((await rollBack(server, editor, 1, 2)).status, 403);

  const back = await propose(server, editor, { restores: 1 }, 2);
  assert.deepEqual([back.status, back.json.source], [201, plain]);
  assert.deepEqual([back.json.restores, back.json.note], [1, "Rollback to version 1."]);
  assert.equal((await publishProposal(server, editor, back.json.id)).status, 403);
  assert.equal((await publishProposal(server, operator, back.json.id)).status, 201);
  assert.equal((await showPolicy(server, editor)).two_person, undefined);
  assert.equal((await publish(server, editor, policySaying("deny", "b"), 3)).status, 201);
});

test("[ours.policy.two-person.floor] the baseline policy can require two people for itself and for every project, and no project can opt out", async (t) => {
  const { server, editor, operator } = await startPolicyScene(t);
  const place = { place: "floor" } as const;
  assert.equal((await publish(server, operator, TWO_PERSON, 0, place)).status, 201);
  assert.equal((await showPolicy(server, editor)).two_person, true);
  assert.equal((await publish(server, editor, policySaying("deny", "a"), 0)).status, 403);
  assert.equal((await publish(server, operator, policySaying("deny", "a"), 1, place)).status, 403);
  const off = await propose(server, operator, policySaying("deny", "a"), 1, place);
  assert.equal(off.status, 201, off.text);
  assert.equal((await publishProposal(server, operator, off.json.id, place)).status, 403);
  // Of the same role, in another project.
  const other = await server.token({
    kind: "reviewer",
    name: "Oz",
    role: "operator",
    project: "z",
  });
  assert.equal((await publishProposal(server, other, off.json.id, place)).status, 201);
  assert.equal((await publish(server, editor, policySaying("deny", "a"), 0)).status, 201);
});

test("[ours.policy.two-person.persons] the tokens and sessions of a person count as one person in every project, and a bot counts as none", async (t) => {
  const { server, editor, operator } = await startPolicyScene(t);
  const { store } = server.provider.context;
  const place = { place: "floor" } as const;
  await publish(server, operator, TWO_PERSON, 0, place);
  const ana = await newPerson(server, { login: "ana@example.com", role: "operator" });
  const token = await server.token({
    kind: "reviewer",
    name: "Ana elsewhere",
    role: "operator",
    project: "z",
  });
  await store.transact((tx) =>
    tx.run("update reviewer set person_id = $1 where name = 'Ana elsewhere'", [ana.id]),
  );
  const source = policySaying("deny", "a");
  const proposed = await callAs<WireProposal>(server, ana, "POST", "/floor/proposals", {
    body: { source, expected_number: 1 },
  });
  assert.equal(proposed.status, 201, proposed.text);
  const { id } = proposed.json;
  const asAna = await callAs(server, ana, "POST", `/floor/proposals/${id}/publish`);
  assert.equal(asAna.status, 403, asAna.text);
  const byToken = await publishProposal(server, token, id, place);
  assert.equal(byToken.status, 403, byToken.text);
  assert.match(byToken.json.error.message, /Another person must publish/);

  const robot = { kind: "reviewer", name: "robot", role: "admin", isBot: true } as const;
  const bot = await server.token(robot);
  const byBot = await propose(server, bot, source, 0);
  assert.deepEqual([byBot.status, byBot.json.error.code], [403, "forbidden"]);
  const byEd = await propose(server, editor, source, 0);
  const refused = await publishProposal(server, bot, byEd.json.id);
  assert.equal(refused.status, 403);
  assert.match(refused.json.error.message, /bots do not count/);
});

test("[ours.policy.two-person.persons] a removed and reinvited user is still the author of their earlier proposals", async (t) => {
  const { server, editor } = await startPolicyScene(t);
  await publish(server, editor, TWO_PERSON, 0);
  const boss = await newPerson(server, { login: "boss", role: "admin" });
  const ana = await newPerson(server, { login: "ana", role: "editor" });
  const draft = { source: policySaying("deny", "a"), expected_number: 1 };
  const path = "/policy/proposals";
  const proposed = await callAs<WireProposal>(server, ana, "POST", path, { body: draft });
  assert.equal(proposed.status, 201, proposed.text);
  const { reviewers } = (
    await callAs<{ reviewers: readonly { id: string; name: string }[] }>(
      server,
      boss,
      "GET",
      "/reviewers",
    )
  ).json;
  const { id } = reviewers.find(({ name }) => name === "ana") ?? assert.fail();
  assert.equal((await callAs(server, boss, "DELETE", `/reviewers/${id}`)).status, 204);
  const body = { name: "ana again", role: "editor" };
  const made = await callAs<{ url: string }>(server, boss, "POST", "/invitations", { body });
  const token = made.json.url.split("#")[1];
  const joined = await callAs(server, ana, "POST", "/invitation/join", { body: { token } });
  assert.equal(joined.status, 200, joined.text);
  const publishing = `${path}/${proposed.json.id}/publish`;
  assertRefused(await callAs(server, ana, "POST", publishing), 403, "forbidden");
  const again = await callAs<WireProposal>(server, boss, "POST", path, { body: draft });
  const other = `${path}/${again.json.id}/publish`;
  assert.equal((await callAs(server, ana, "POST", other)).status, 201);
});

test("[ours.policy.two-person.persons] a bot's proposal from before the two-person rule must be proposed again by a person", async (t) => {
  const { server, editor, operator } = await startPolicyScene(t);
  const bot = await server.token({ kind: "reviewer", name: "robot", role: "editor", isBot: true });
  const { id } = (await propose(server, bot, policySaying("deny", "a"), 0)).json;
  await publish(server, operator, TWO_PERSON, 0, { place: "floor" });
  const refused = await publishProposal(server, editor, id);
  assert.equal(refused.status, 403, refused.text);
  assert.match(refused.json.error.message, /Propose it yourself\.$/);
});

test("[ours.policy.two-person.conflict] of proposals from one version the first publication wins, and the others report the active version", async (t) => {
  const { server, editor, operator } = await startPolicyScene(t);
  await requireTwo(server, editor);
  const sources = ["a", "b", "c"].map((tool) => twoPerson(policySaying("deny", tool)));
  const ids: string[] = [];
  for (const source of sources) ids.push((await propose(server, editor, source, 1)).json.id);
  const li = await server.token({ kind: "reviewer", name: "Li", role: "admin" });
  const answers = await Promise.all(
    ids.flatMap((id) => [operator, li].map((token) => publishProposal(server, token, id))),
  );
  const statuses = answers.map(({ status }) => status).sort();
  // The second who published the winner finds it done, or that it was closed.
  assert.equal(statuses.filter((status) => status === 201).length, 1, statuses.join());
  assert.ok(
    statuses.every((status) => [200, 201, 409].includes(status)),
    statuses.join(),
  );
  const active = await showPolicy(server, editor);
  assert.equal(active.number, 2);
  for (const [index, id] of ids.entries()) {
    const { state } = await readProposal(server, editor, id);
    assert.equal(state, sources[index] === active.source ? "published" : "outdated");
    if (state === "published") continue;
    const late = await publishProposal(server, operator, id);
    assert.deepEqual([late.status, late.json.error.code], [409, "policy_conflict"]);
    assert.match(
      late.json.error.message,
      /^Version 2, published by .* is active, but .* version 1\. Propose it again/,
    );
  }
  const stale = await propose(server, editor, twoPerson(policySaying("deny", "d")), 1);
  assert.deepEqual([stale.status, stale.json.error.code], [409, "policy_conflict"]);
});

test("[ours.policy.two-person.reject] a proposal is rejected or withdrawn once, and cannot be published then", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor, operator } = scene;
  await requireTwo(server, editor);
  const { id } = (await propose(server, editor, twoPerson(policySaying("deny", "a")), 1)).json;
  const reject = (token: string, of: string, note?: string) =>
    server.call<WireProposal>("POST", `/review/v1/policy/proposals/${of}/reject`, {
      token,
      body: note === undefined ? {} : { note },
    });
  const rejected = await reject(operator, id, "Not on Sundays.");
  assert.equal(rejected.status, 200, rejected.text);
  const { state, closer, reason } = rejected.json;
  assert.deepEqual([state, closer, reason], ["rejected", "Olga", "Not on Sundays."]);
  assert.deepEqual((await reject(editor, id, "again")).json, rejected.json);
  const late = await publishProposal(server, operator, id);
  assert.deepEqual([late.status, late.json.error.code], [409, "policy_conflict"]);
  const kinds = (await auditOf(scene, `proposal:${id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["policy.proposed", "policy.rejected"]);

  const { id: own } = (await propose(server, editor, twoPerson(policySaying("deny", "b")), 1)).json;
  assert.equal((await reject(editor, own)).json.state, "rejected");
  const list = async (wanted: string) => {
    const path = `/review/v1/policy/proposals?state=${wanted}`;
    const page = await server.call<{ proposals: WireProposal[] }>("GET", path, { token: editor });
    return page.json.proposals.map((each) => each.id).sort();
  };
  assert.deepEqual([await list("open"), await list("closed")], [[], [own, id].sort()]);
  const missing = await reject(editor, "0190f2a0-0000-7000-8000-000000000001");
  assert.equal(missing.status, 404);
});

test("[ours.policy.two-person.propose] a proposal is checked like a publication, kept once, and rejected when it equals the active policy", async (t) => {
  const { server, editor } = await startPolicyScene(t);
  await requireTwo(server, editor);
  const source = twoPerson(policySaying("deny", "a"));
  const failing = await propose(server, editor, source.replace("deny,", "ask,"), 1);
  assert.deepEqual([failing.status, failing.json.error.code], [422, "policy_invalid"]);
  const first = await propose(server, editor, source, 1);
  const again = await propose(server, editor, source, 1, { note: "another note" });
  assert.deepEqual([first.status, again.status], [201, 200]);
  assert.deepEqual(again.json, first.json);
  const same = await propose(server, editor, TWO_PERSON, 1);
  assert.deepEqual([same.status, same.json.error.param], [400, "source"]);
  assert.equal((await propose(server, editor, { restores: 9 }, 1)).status, 404);
  const both = await propose(server, editor, { source, restores: 1 }, 1);
  assert.deepEqual([both.status, both.json.error.param], [400, "restores"]);
  for (const value of ["yes", "1", ""]) {
    const wrong = source.replace("two_person: true", `two_person: ${value}`);
    assert.equal((await propose(server, editor, wrong, 1)).status, 422, value);
  }
});

test("[ours.policy.two-person.release] beside the database an operator publishes a proposal alone, and the audit log says so", async (t) => {
  const scene = await startPolicyScene(t);
  const { server, editor } = scene;
  const { context } = server.provider;
  await requireTwo(server, editor);
  const { json } = await propose(server, editor, policySaying("deny", "a"), 1);
  const release = { scope: "project", project: "default", proposalId: json.id } as const;
  const released = await releaseProposal(context, release);
  assert.deepEqual([released.outcome, released.version.number], ["published", 2]);
  const [entry] = await auditOf(scene, "policy:2");
  assert.deepEqual([entry?.actor, entry?.detail.proposal], ["operator:cli", json.id]);
  assert.equal((await publish(server, editor, policySaying("deny", "b"), 2)).status, 201);
  for (const wrong of [
    { project: "nowhere" },
    { proposalId: "none" },
    { scope: "floor" as const },
  ]) {
    await assert.rejects(releaseProposal(context, { ...release, ...wrong }), { code: "not_found" });
  }
});
