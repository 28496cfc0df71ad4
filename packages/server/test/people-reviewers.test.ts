/**
 * Reviewers as those see and change them who say who may do what.
 */

import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { removeReviewerNamed } from "../src/index.ts";
import { assertRefused } from "./support/envelope.ts";
import { submitRequiring } from "./support/requirements.ts";
import { isLive, peopleOf } from "./support/reviewers.ts";
import { auditOf, startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server, instance } = scene;
const people = peopleOf(scene);
const root = await people.token("root", { role: "admin" });
const second = await people.token("second", { role: "admin" });

test("[ours.people.reviewers] every role sees the permissions of all reviewers, without removed reviewers", async () => {
  const viewer = await people.token("viewer", { role: "viewer" });
  await people.token("leaver", { groups: ["leavers"] });
  assert.ok((await people.reviewers(viewer)).some(({ name }) => name === "leaver"));
  const groups = () =>
    server.call<{ reviewers: string[] }>("GET", "/review/v1/groups", { token: viewer });
  assert.ok((await groups()).json.reviewers.includes("leavers"));
  assert.equal((await people.remove(root, "leaver")).status, 204);
  assert.ok((await people.reviewers(viewer)).every(({ name }) => name !== "leaver"));
  assert.ok(!(await groups()).json.reviewers.includes("leavers"));
  const path = `/review/v1/reviewers/${await people.idOf("leaver")}`;
  assertRefused(await server.call("GET", path, { token: viewer }), 404, "not_found");
});

test("[ours.people.project] every reviewer can read the project and the own name and role of the credential", async () => {
  const elsewhere = await people.token("guest", { role: "viewer", project: "elsewhere" });
  const answer = await server.call("GET", "/review/v1/project", { token: elsewhere });
  const id = await server.provider.context.store.get("select id from project where name = $1", [
    "elsewhere",
  ]);
  assert.deepEqual(answer.json, {
    id: id?.id,
    name: "elsewhere",
    reviewer: { id: await people.idOf("guest"), name: "guest" },
    role: "viewer",
  });
});

test("[ours.people.reviewers] role and groups change at once, omitted fields are unchanged, and the log names the actor", async () => {
  const token = await people.token("ana");
  const changed = await people.change(root, "ana", { role: "editor" });
  assert.deepEqual([changed.json.role, changed.json.groups], ["editor", []]);
  const again = await people.change(root, "ana", { groups: ["b", "a", "b"] });
  assert.deepEqual([again.json.role, again.json.groups], ["editor", ["a", "b"]]);
  assert.equal((await people.change(root, "ana", {})).status, 200);
  const { id } = await submitRequiring(scene, {});
  assertRefused(await server.decide(token, id, "approve"), 403, "forbidden");
  const entries = await auditOf(scene, `reviewer:${await people.idOf("ana")}`);
  const updates = entries.filter(({ kind }) => kind === "reviewer.updated");
  assert.deepEqual(
    updates.map(({ actor, detail }) => [actor, detail]),
    [
      [`reviewer:${await people.idOf("root")}`, { role: "editor", groups: [] }],
      [`reviewer:${await people.idOf("root")}`, { role: "editor", groups: ["a", "b"] }],
    ],
  );
});

test("[ours.people.reviewers] only admins and operators change or remove anybody", async () => {
  await people.token("target");
  for (const role of ["viewer", "reviewer", "editor", "auditor"] as const) {
    const token = await people.token(`a-${role}`, { role });
    assertRefused(await people.change(token, "target", { role: "viewer" }), 403, "forbidden");
    assertRefused(await people.remove(token, "target"), 403, "forbidden");
  }
});

test("[ours.authorization.no-more-than-own] an admin cannot raise a reviewer above their own role, or change a reviewer above it", async () => {
  await people.token("op", { role: "operator" });
  for (const change of [{ role: "viewer" }, { groups: ["x"] }]) {
    assertRefused(await people.change(root, "op", change), 403, "forbidden");
  }
  assertRefused(await people.remove(root, "op"), 403, "forbidden");
  for (const name of ["target", "root"]) {
    assertRefused(await people.change(root, name, { role: "operator" }), 403, "forbidden");
  }
});

test("[ours.authorization.no-more-than-own] a narrow token gives no role and no group beyond its scopes, not even to its holder", async () => {
  const narrow = await people.token("second", { scopes: ["people", "decide:dba"] });
  await people.token("plain", { role: "viewer" });
  for (const change of [
    { role: "admin" },
    { role: "reviewer" },
    { role: "editor" },
    { groups: ["finance"] },
    { groups: ["dba", "finance"] },
  ]) {
    assertRefused(await people.change(narrow, "plain", change), 403, "forbidden");
  }
  assertRefused(await people.change(narrow, "second", { groups: ["finance"] }), 403, "forbidden");
  assert.equal((await people.change(narrow, "plain", { groups: ["dba"] })).status, 200);
});

test("[ours.people.groups-of-others] PATCH of one's own groups returns 403 for groups that are added", async () => {
  await people.token("joiner", { role: "admin", groups: ["ops"] });
  const joiner = await people.token("joiner");
  const refused = await people.change(joiner, "joiner", { groups: ["ops", "sec"] });
  assertRefused(refused, 403, "forbidden");
  assert.match(refused.text, /You cannot add yourself to the group sec/);
  assert.equal((await people.change(root, "joiner", { groups: ["ops", "sec"] })).status, 200);
  assert.equal((await people.change(joiner, "joiner", { groups: ["sec"] })).status, 200);
});

test("[ours.people.removed] removing ends every token at once, keeps the name, and can be sent again", async () => {
  const tokens = [await people.token("gone"), await people.token("gone", { scopes: ["read"] })];
  for (const _ of ["once", "again"]) assert.equal((await people.remove(root, "gone")).status, 204);
  for (const token of tokens) assert.equal(await isLive(scene, token), false);
  await assert.rejects(people.token("gone"), /was removed/);
  await assert.rejects(people.token("gone", { isBot: true }), /was removed/);
  assertRefused(await people.change(root, "gone", { role: "viewer" }), 404, "not_found");
  const entries = await auditOf(scene, `reviewer:${await people.idOf("gone")}`);
  const removals = entries.filter(({ kind }) => kind === "reviewer.removed");
  assert.deepEqual(
    removals.map(({ detail }) => detail),
    [{ name: "gone", tokens_revoked: 2 }],
  );
});

test("[ours.people.removed] a grant of a removed reviewer answers no request", async () => {
  const token = await people.token("granter");
  const body = { instance_id: instance.id, tool: "deploy" };
  const made = await server.call("POST", "/review/v1/grants", { token, body });
  assert.equal(made.status, 201, made.text);
  assert.equal((await server.submit(instance.token)).status, "approved");
  await people.remove(root, "granter");
  assert.equal((await server.submit(instance.token)).status, "pending");
});

test("[ours.people.removed] a removed reviewer cannot become an owner", async () => {
  await people.token("owner");
  await people.remove(root, "owner");
  const path = `/review/v1/instances/${instance.id}`;
  const answer = await server.call("PATCH", path, { token: root, body: { owner: "owner" } });
  assertRefused(answer, 400, "invalid_request", "owner");
});

/** A project with two admins and no other reviewers. */
async function twoAdmins(t: TestContext) {
  const other = await startScene(t);
  const own = peopleOf(other);
  const [one, two] = [
    await own.token("one", { role: "admin" }),
    await own.token("two", { role: "admin" }),
  ];
  return { other, own, one, two };
}

test("[ours.people.reviewers] the last user with the power people can be neither removed nor demoted over HTTP", async (t) => {
  const { other, own, one } = await twoAdmins(t);
  await own.token("ghost", { role: "admin", scopes: ["read"] });
  assert.equal((await own.change(one, "two", { role: "auditor" })).status, 200);
  assertRefused(await own.remove(one, "one"), 403, "forbidden");
  assertRefused(await own.change(one, "one", { role: "reviewer" }), 403, "forbidden");
  await removeReviewerNamed(other.server.provider.context, "default", "one");
  assert.equal(await isLive(other, one), false);
});

test("[ours.people.reviewers] two reviewers remove each other at once: one remains", async (t) => {
  for (let round = 0; round < 3; round++) {
    const { own, one, two } = await twoAdmins(t);
    const answers = await Promise.all([own.remove(one, "two"), own.remove(two, "one")]);
    const statuses = answers.map(({ status }) => status).sort();
    assert.equal(statuses[0], 204);
    assert.ok([401, 403].includes(statuses[1] ?? 0), String(statuses));
  }
});

test("[ours.people.reviewers] a bot has the role and groups that it was made with, and they are changed as a person's", async () => {
  const issued = await people.issue(second, { name: "bot", role: "viewer", groups: ["ci"] });
  assert.equal(issued.status, 201);
  const changed = await people.change(second, "bot", { role: "reviewer" });
  assert.deepEqual([changed.json.kind, changed.json.role], ["bot", "reviewer"]);
  assert.equal(changed.json.signs_in, false);
});
