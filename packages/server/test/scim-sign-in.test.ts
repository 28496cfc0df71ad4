/**
 * Users of SCIM who sign in at the identity provider: one account for one user, and never the
 * account of another one.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { linkPerson, revokeScimToken } from "../src/index.ts";
import { FetchBrowser } from "./support/fetch-browser.ts";
import { type OidcScene, session, signedIn, startOidcScene } from "./support/oidc-scene.ts";
import { newPerson } from "./support/people.ts";
import { assertScimError, rolesOf, ScimClient } from "./support/scim.ts";

type Options = Readonly<Record<string, string>>;

function startScene(t: TestContext, settings: Options = {}): Promise<OidcScene> {
  return startOidcScene(t, { provisioner_rate: "0", oidc_groups: "*", ...settings });
}

async function startScim(t: TestContext, settings: Options = {}) {
  const scene = await startScene(t, settings);
  return { scene, scim: await ScimClient.create(scene.server) };
}

/** Signs in as the user that the provider describes, who must be rejected. */
async function refused(scene: OidcScene): Promise<string> {
  const page = await scene.signIn(new FetchBrowser());
  assert.equal(page.status, 403, page.text);
  return page.text;
}

async function countPersons({ server }: OidcScene): Promise<number> {
  const row = await server.provider.context.store.get("select count(*) as n from person");
  return Number(row?.n);
}

test("[ours.scim.identity] the user that SCIM created is the user who signs in, with the roles of SCIM", async (t) => {
  const { scene, scim } = await startScim(t);
  const fields = { externalId: scene.idp.account.sub, displayName: "Ana of SCIM" };
  const id = await scim.user("ana.lima@example.com", fields);
  await scim.group("payers", [id]);
  // The id token names another group, login and name.
  const shown = await signedIn(scene);
  assert.equal(shown.person.id, id);
  assert.deepEqual(
    [shown.person.login, shown.person.name],
    ["ana.lima@example.com", "Ana of SCIM"],
  );
  assert.deepEqual(await rolesOf(scene.server, id), ['payments reviewer ["payers"]']);
  assert.equal((await signedIn(scene)).person.id, id);
  assert.equal(await countPersons(scene), 1);
});

test("[ours.scim.removed] a removed user loses the session, and cannot sign in again", async (t) => {
  const { scene, scim } = await startScim(t);
  const id = await scim.user("ana", { externalId: scene.idp.account.sub });
  await scim.group("approvers", [id]);
  const browser = new FetchBrowser();
  await signedIn(scene, browser);
  await scim.patch(`/Users/${id}`, { op: "replace", path: "active", value: false });
  assert.equal((await session(scene, browser)).status, 401);
  assert.match(await refused(scene), /Your account is disabled/);
  await scim.call("DELETE", `/Users/${id}`);
  assert.match(await refused(scene), /Your account is disabled/);
});

test("[ours.scim.identity] a user without a role in the groups of SCIM cannot sign in with those of an id token", async (t) => {
  const { scene, scim } = await startScim(t);
  scene.idp.account = { ...scene.idp.account, groups: ["platform"] };
  const id = await scim.user("ana", { externalId: scene.idp.account.sub });
  assert.match(await refused(scene), /no role on this server/);
  assert.deepEqual(await rolesOf(scene.server, id), []);
});

test("[ours.scim.identity] SCIM adopts the account of a user who signed in before, by the id at the provider", async (t) => {
  const scene = await startScene(t);
  const { person } = await signedIn(scene);
  const scim = await ScimClient.create(scene.server);
  const id = await scim.user("another.login", { externalId: scene.idp.account.sub });
  assert.equal(id, person.id);
  assert.deepEqual(await rolesOf(scene.server, id), []);
  await scim.group("approvers", [id]);
  const shown = await signedIn(scene);
  assert.deepEqual([shown.person.id, shown.person.login], [id, "ana"]);
});

test("[ours.scim.identity] SCIM never takes over a local account, whatever its login or email address", async (t) => {
  const { scene, scim } = await startScim(t);
  const boss = await newPerson(scene.server, { login: "boss@example.com", role: "operator" });
  const emails = [{ value: "boss@example.com", primary: true }];
  const attempts = [
    { userName: "boss@example.com", externalId: "x", emails },
    { userName: "BOSS@example.com" },
    { userName: "boss@example.com", externalId: boss.id, id: boss.id },
  ];
  for (const attempt of attempts) {
    const answer = await scim.call("POST", "/Users", attempt);
    assertScimError(answer, 409, "uniqueness");
    assert.match(answer.json.detail, /countersign people link/);
  }
  const stranger = await scim.user("stranger", { emails, externalId: boss.id });
  assert.notEqual(stranger, boss.id);
  for (const path of [`/Users/${boss.id}`]) {
    assertScimError(await scim.call("GET", path), 404);
    assertScimError(await scim.call("DELETE", path), 404);
    assertScimError(await scim.patch(path, { op: "replace", path: "active", value: false }), 404);
  }
  const group = { displayName: "platform", members: [{ value: boss.id }] };
  assertScimError(await scim.call("POST", "/Groups", group), 400, "invalidValue");
  // A new user name does not change the login.
  await scim.patch(`/Users/${stranger}`, { op: "replace", path: "userName", value: "boss" });
  const rows = await scene.server.provider.context.store.all("select login from person order by 1");
  assert.deepEqual(
    rows.map(({ login }) => login),
    ["boss@example.com", "stranger"],
  );
  assert.deepEqual(await rolesOf(scene.server, boss.id), ["default operator []"]);
});

test("[ours.scim.identity] after the operator links a local account, SCIM adopts it", async (t) => {
  const { scene, scim } = await startScim(t);
  const ana = await newPerson(scene.server, { login: "ana" });
  assertScimError(
    await scim.call("POST", "/Users", { userName: "ana", externalId: "s1" }),
    409,
    "uniqueness",
  );
  const { context } = scene.server.provider;
  await linkPerson(context, { login: "ana", subject: "s1" });
  assert.equal(await scim.user("ana", { externalId: "s1" }), ana.id);
  await scim.call("DELETE", `/Users/${ana.id}`);
  // Without the link, the id at the provider no longer names the account.
  const ben = await newPerson(scene.server, { login: "ben", role: "admin" });
  await linkPerson(context, { login: "ben", subject: "s2" });
  await linkPerson(context, { login: "ben", subject: null });
  assertScimError(
    await scim.call("POST", "/Users", { userName: "ben", externalId: "s2" }),
    409,
    "uniqueness",
  );
  assert.deepEqual(await rolesOf(scene.server, ben.id), ["default admin []"]);
});

test("[ours.scim.identity] with another claim for externalId, a user is found by that claim and not by the subject", async (t) => {
  const { scene, scim } = await startScim(t, { oidc_external_id_claim: "hasgroups" });
  scene.idp.account = { ...scene.idp.account, hasgroups: "object-1" };
  const id = await scim.user("ana.lima", { externalId: "object-1" });
  const other = await scim.user("other", { externalId: scene.idp.account.sub });
  await scim.group("approvers", [id, other]);
  assert.equal((await signedIn(scene)).person.id, id);
  // Another user of the provider with the same claim.
  scene.idp.account = { ...scene.idp.account, sub: "ana-2" };
  assert.match(await refused(scene), /linked to another user of the identity provider/);
});

test("[ours.scim.identity] a user with two accounts cannot sign in, because SCIM could disable only one of them", async (t) => {
  const scene = await startScene(t, { oidc_external_id_claim: "hasgroups" });
  // The first sign-in has no such claim, so SCIM creates a second account.
  await signedIn(scene);
  const scim = await ScimClient.create(scene.server);
  await scim.user("second", { externalId: "object-1" });
  scene.idp.account = { ...scene.idp.account, hasgroups: "object-1" };
  assert.match(await refused(scene), /have the same user at the identity provider/);
});

test("[ours.scim.identity] SCIM cannot create or adopt the emergency account", async (t) => {
  const { scene, scim } = await startScim(t, { oidc_only: "true", oidc_break_glass: "glass" });
  const body = { userName: "glass", externalId: "g1" };
  assertScimError(await scim.call("POST", "/Users", body), 409, "uniqueness");
  await newPerson(scene.server, { login: "glass", role: "operator" });
  await linkPerson(scene.server.provider.context, { login: "glass", subject: "g1" });
  assertScimError(await scim.call("POST", "/Users", body), 409, "uniqueness");
});

test("[ours.scim.identity] while SCIM is on, a sign-in creates no account", async (t) => {
  const { scene, scim } = await startScim(t);
  // Without externalId, the user of SCIM cannot be found by the id token.
  await scim.user("ana.lima", { externalId: null });
  assert.match(await refused(scene), /did not send your account over SCIM/);
  assert.equal(await countPersons(scene), 1);
  await revokeScimToken(scene.server.provider.context, scim.tokenId);
  await signedIn(scene);
  assert.equal(await countPersons(scene), 2);
});
