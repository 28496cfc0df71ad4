/**
 * A user whom the identity provider removes over SCIM loses power at once.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { disablePerson } from "../src/index.ts";
import { createSession } from "../src/steps/access/createSession.ts";
import { assertRefused } from "./support/envelope.ts";
import { EventReader } from "./support/event-reader.ts";
import { callAs } from "./support/people.ts";
import { submitRequiring } from "./support/requirements.ts";
import { auditOf, startScene } from "./support/scene.ts";
import { assertScimError, rolesOf, ScimClient } from "./support/scim.ts";
import { turns, until } from "./support/until.ts";

const settings = { oidc_roles: "approvers=reviewer" };
const scene = await startScene({ after }, { settings });
const { server, clock } = scene;
const { context } = server.provider;
const scim = await ScimClient.create(server);

const LIST = "/review/v1/requests";

/** A reviewer whom SCIM provisioned, with a session and a token. */
async function newReviewer(login: string) {
  const id = await scim.user(login);
  await scim.group("approvers", [id]);
  const order = { personId: id, method: "password", userAgent: "a test" } as const;
  const cookie = await context.store.transact((tx) => createSession(tx, context, order));
  const token = await server.token({ kind: "reviewer", name: login });
  return { id, cookie, token };
}

/** The forms in which providers remove a user. */
const REMOVALS: Readonly<Record<string, (id: string) => Promise<{ readonly status: number }>>> = {
  "PATCH of RFC 7644": (id) =>
    scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: false }),
  "PATCH of Microsoft Entra ID": (id) =>
    scim.patch(`/Users/${id}`, { op: "Replace", path: "active", value: "False" }),
  "PATCH of Okta": (id) => scim.patch(`/Users/${id}`, { op: "replace", value: { active: false } }),
  PUT: async (id) => {
    const { json } = await scim.call("GET", `/Users/${id}`);
    return scim.call("PUT", `/Users/${id}`, { ...json, active: false });
  },
  DELETE: (id) => scim.call("DELETE", `/Users/${id}`),
};

for (const [form, remove] of Object.entries(REMOVALS)) {
  test(`[ours.scim.removed] ${form}: the session, the token and the vote of the user end with the answer`, async () => {
    const login = form.toLowerCase().replaceAll(" ", "-");
    const { id, cookie, token } = await newReviewer(login);
    const request = await submitRequiring(scene, { quorum: 2 });
    const decided = await submitRequiring(scene, {});
    assert.equal((await server.decide(token, decided.id, "approve")).json.status, "approved");
    assert.equal((await server.decide(token, request.id, "approve")).json.status, "pending");
    assert.equal((await callAs(server, { cookie }, "GET", "/requests")).status, 200);
    const { status } = await remove(id);
    assert.ok(status === 200 || status === 204, String(status));
    assertRefused(await callAs(server, { cookie }, "GET", "/requests"), 401, "invalid_credential");
    assertRefused(await server.call("GET", LIST, { token }), 401, "invalid_credential");
    const shown = await server.decide(scene.reviewer, request.id, "approve");
    assert.equal(shown.json.status, "pending", "the vote of the removed user does not count");
    // Earlier decisions of the user stay, with the name.
    const path = `${LIST}/${decided.id}`;
    const kept = await server.call<{ decider: string }>("GET", path, { token: scene.reviewer });
    assert.equal(kept.json.decider, login);
    const ended = (await auditOf(scene, `person:${id}`)).at(-1);
    assert.deepEqual([ended?.kind, ended?.actor], ["person.updated", `scim:${scim.tokenId}`]);
  });
}

test("[ours.scim.removed] a verdict that is on its way when the user is removed is rejected", async () => {
  const { id, token } = await newReviewer("late");
  const request = await submitRequiring(scene, {});
  const path = `${LIST}/${request.id}`;
  const shown = await server.call<{ arguments_sha256: string }>("GET", path, { token });
  const body = { verdict: "approve", arguments_sha256: shown.json.arguments_sha256 };
  await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
  const verdict = await server.call("POST", `${path}/verdict`, { token, body });
  assertRefused(verdict, 401, "invalid_credential");
  assert.equal((await server.read(scene.instance.token, request.id)).status, "pending");
});

test("[ours.scim.removed] a delayed verdict of a removed user is not applied", async () => {
  const { id, token } = await newReviewer("delayed");
  const request = await submitRequiring(scene, {});
  const held = await server.decide(token, request.id, "approve", { hold: "60s" });
  assert.equal(held.status, 200, held.text);
  await scim.call("DELETE", `/Users/${id}`);
  clock.advance(61_000);
  await until(async () => {
    await turns();
    const row = await context.store.get(
      "select count(*) as held from delayed_verdict where request_id = $1",
      [request.id],
    );
    clock.advance(1_000);
    return Number(row?.held) === 0;
  }, "the delayed verdict is discarded");
  assert.equal((await server.read(scene.instance.token, request.id)).status, "pending");
});

test("[ours.scim.removed] the open event stream of a removed user ends", async (t) => {
  const { id, token } = await newReviewer("follows");
  const reader = await EventReader.open(t, server, { authorization: `Bearer ${token}` });
  await reader.next("ready");
  await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
  let isOver = false;
  const over = reader.over.then(() => {
    isOver = true;
  });
  await until(async () => {
    if (!isOver) clock.advance(1_000);
    await turns();
    return isOver;
  }, "the stream ends");
  await over;
  assert.equal((await reader.next("end")).data.reason, "signed_out");
});

test("[ours.scim.removed] a user who returns has the roles of the groups, and no earlier token or session", async () => {
  const { id, cookie, token } = await newReviewer("returns");
  await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
  const back = await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: true });
  assert.equal(back.json.active, true);
  assert.deepEqual(await rolesOf(server, id), ["default reviewer []"]);
  assertRefused(await server.call("GET", LIST, { token }), 401, "invalid_credential");
  assertRefused(await callAs(server, { cookie }, "GET", "/requests"), 401, "invalid_credential");
});

test("[ours.scim.removed] a token of a role that the user had lost before the removal stays revoked", async () => {
  const id = await scim.user("leaves-first");
  const group = await scim.group("approvers", [id]);
  const token = await server.token({ kind: "reviewer", name: "leaves-first" });
  await scim.patch(`/Groups/${group}`, { op: "remove", path: `members[value eq "${id}"]` });
  await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
  await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: true });
  await scim.patch(`/Groups/${group}`, { op: "add", path: "members", value: [{ value: id }] });
  assert.deepEqual(await rolesOf(server, id), ["default reviewer []"]);
  assertRefused(await server.call("GET", LIST, { token }), 401, "invalid_credential");
});

test("[ours.scim.removed] a deleted user who is created again is the same user, and another one cannot take the login", async () => {
  const { id } = await newReviewer("again");
  await scim.call("DELETE", `/Users/${id}`);
  assertScimError(await scim.call("GET", `/Users/${id}`), 404);
  assert.deepEqual(await rolesOf(server, id), []);
  const other = await scim.call("POST", "/Users", { userName: "again", externalId: "someone" });
  assertScimError(other, 409, "uniqueness");
  const nameless = await scim.call("POST", "/Users", { userName: "again" });
  assertScimError(nameless, 409, "uniqueness");
  assert.equal(await scim.user("again"), id);
});

test("[ours.scim.operator] SCIM does not enable a user whom the operator disabled", async () => {
  const { id } = await newReviewer("locked");
  await disablePerson(context, { login: "locked", isDisabled: true });
  assert.equal((await scim.call("GET", `/Users/${id}`)).json.active, false);
  const name = await scim.patch(`/Users/${id}`, { op: "replace", path: "displayName", value: "L" });
  assert.deepEqual([name.status, name.json.active], [200, false]);
  const enable = { op: "replace", path: "active", value: true };
  const refused = await scim.patch(`/Users/${id}`, enable);
  assertScimError(refused, 403);
  assert.match(refused.json.detail, /countersign people enable locked/);
  await scim.call("DELETE", `/Users/${id}`);
  const made = await scim.call("POST", "/Users", { userName: "locked", externalId: "sub-locked" });
  assertScimError(made, 403);
  await disablePerson(context, { login: "locked", isDisabled: false });
  assert.equal(await scim.user("locked"), id);
});

test("[ours.scim.operator] SCIM does not enable a user whom the operator disabled after SCIM had", async () => {
  const { id } = await newReviewer("locked-later");
  await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
  await disablePerson(context, { login: "locked-later", isDisabled: true });
  const entry = (await auditOf(scene, `person:${id}`)).at(-1);
  assert.deepEqual([entry?.kind, entry?.actor], ["person.updated", "operator:cli"]);
  const enable = { op: "replace", path: "active", value: true };
  assertScimError(await scim.patch(`/Users/${id}`, enable), 403);
  await disablePerson(context, { login: "locked-later", isDisabled: false });
  assert.equal((await scim.call("GET", `/Users/${id}`)).json.active, true);
});
