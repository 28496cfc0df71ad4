import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { linkPerson } from "../src/index.ts";
import { removeReviewerNamed } from "../src/operations/people/removeReviewer.ts";
import { makeReturnLink } from "../src/operations/sign-in/makeReturnLink.ts";
import { assertRefused } from "./support/envelope.ts";
import { FetchBrowser } from "./support/fetch-browser.ts";
import {
  auditOf,
  type OidcScene,
  ROLES,
  SESSION_COOKIE,
  type ShownSession,
  session,
  signedIn,
  startOidcScene,
} from "./support/oidc-scene.ts";
import { callAs, newPerson } from "./support/people.ts";

/** Signs in as the user that the provider describes. */
async function refused(scene: OidcScene, browser = new FetchBrowser()): Promise<string> {
  const page = await scene.signIn(browser);
  assert.equal(page.status, 403, page.text);
  assert.equal(browser.cookies.has(SESSION_COOKIE), false);
  return page.text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

function rolesOf({ projects }: ShownSession): Record<string, string> {
  return Object.fromEntries(projects.map(({ name, role }) => [name, role]));
}

test("[ours.oidc.roles] groups of the provider give roles in projects and groups here", async (t) => {
  const scene = await startOidcScene(t, { oidc_groups: "Data Base Team=dba,*" });
  scene.idp.account = {
    ...scene.idp.account,
    groups: ["approvers", "payers", "Data Base Team", "Not A Name"],
  };
  const shown = await signedIn(scene);
  assert.deepEqual(rolesOf(shown), { default: "reviewer", payments: "reviewer" });
  for (const { groups } of shown.projects) assert.deepEqual(groups, ["approvers", "dba", "payers"]);
  assert.equal(shown.project?.name, "default");
});

test("[ours.oidc.roles] a role that the provider removes is gone with the next sign-in", async (t) => {
  const scene = await startOidcScene(t, { oidc_groups: "*" });
  const { idp } = scene;
  const groups = ["platform", "payers", "dba"];
  idp.account = { ...idp.account, groups };
  const first = new FetchBrowser();
  const before = await signedIn(scene, first);
  assert.deepEqual(rolesOf(before), { default: "admin", payments: "reviewer" });
  idp.account = { ...idp.account, groups: ["approvers"] };
  const after = await signedIn(scene);
  assert.equal(after.person.id, before.person.id);
  assert.deepEqual(rolesOf(after), { default: "reviewer" });
  assert.deepEqual(after.project?.groups, ["approvers"]);
  // In the other browser as well, which has not signed in again.
  const elsewhere = (await session(scene, first)).json;
  assert.deepEqual(rolesOf(elsewhere), { default: "reviewer" });
  assert.deepEqual((await auditOf(scene, "reviewer.updated", "reviewer.removed")).sort(), [
    'reviewer.removed system:sign-in {"because":"the identity provider gives no role"}',
    "reviewer.updated system:sign-in " +
      '{"role":"reviewer","groups":["approvers"],"last_admin_of":"default"}',
  ]);
  // And given again with it, to the same reviewer.
  idp.account = { ...idp.account, groups };
  const again = await signedIn(scene);
  assert.deepEqual(again.projects, before.projects);
});

test("[ours.oidc.roles] a user who lost every role is rejected, and has lost it in every browser", async (t) => {
  const scene = await startOidcScene(t);
  const first = new FetchBrowser();
  await signedIn(scene, first);
  scene.idp.account = { ...scene.idp.account, groups: [] };
  assert.match(await refused(scene), /has no role on this server/);
  assert.deepEqual((await session(scene, first)).json.projects, []);
  const headers = {
    cookie: `${SESSION_COOKIE}=${first.cookies.get(SESSION_COOKIE)}`,
    "sec-fetch-site": "same-origin",
  };
  const list = await scene.server.call("GET", "/review/v1/requests?status=pending", { headers });
  assert.equal(list.status, 403);
  const [entry] = await auditOf(scene, "signin.refused");
  assert.match(entry ?? "", /"because":"no role"/);
});

test("[ours.oidc.roles] a user who never had a role leaves no row", async (t) => {
  const scene = await startOidcScene(t);
  scene.idp.account = { ...scene.idp.account, groups: ["others"] };
  assert.match(await refused(scene), /has no role on this server/);
  assert.deepEqual(await scene.server.provider.context.store.all("select id from person"), []);
});

test("[ours.oidc.roles] a sign-in that changes nothing writes no change", async (t) => {
  const scene = await startOidcScene(t);
  const first = await signedIn(scene);
  const second = await signedIn(scene);
  assert.deepEqual(second.projects, first.projects);
  const kinds = ["person.updated", "reviewer.updated", "reviewer.removed"];
  assert.deepEqual(await auditOf(scene, ...kinds), []);
});

test("[ours.oidc.roles] the provider wins over what was set by hand", async (t) => {
  const scene = await startOidcScene(t);
  const { project } = await signedIn(scene);
  await scene.server.provider.context.store.transact((tx) =>
    tx.run("update reviewer set role = 'admin', group_names = '[\"dba\"]' where id = $1", [
      project?.reviewer.id ?? "",
    ]),
  );
  const { project: after } = await signedIn(scene);
  assert.equal(after?.role, "reviewer");
  assert.deepEqual(after?.groups, []);
});

test("[ours.oidc.roles] a user that an admin removed stays removed", async (t) => {
  const scene = await startOidcScene(t);
  scene.idp.account = { ...scene.idp.account, groups: ["approvers", "payers"] };
  const { projects } = await signedIn(scene);
  assert.equal(projects.length, 2);
  await removeReviewerNamed(scene.server.provider.context, "default", "ana");
  assert.deepEqual(rolesOf(await signedIn(scene)), { payments: "reviewer" });
  scene.idp.account = { ...scene.idp.account, groups: ["approvers"] };
  assert.match(await refused(scene), /has no role on this server/);
});

test("[ours.oidc.roles] a user that the provider removed can be removed by an admin as well", async (t) => {
  const scene = await startOidcScene(t);
  await signedIn(scene);
  const { account } = scene.idp;
  scene.idp.account = { ...account, groups: [] };
  await refused(scene);
  await removeReviewerNamed(scene.server.provider.context, "default", "ana");
  scene.idp.account = account;
  assert.match(await refused(scene), /has no role on this server/);
});

test("[ours.oidc.roles] a mapping that the settings lost is lost to everybody", async (t) => {
  const scene = await startOidcScene(t);
  scene.idp.account = { ...scene.idp.account, groups: ["approvers", "payers"] };
  assert.deepEqual(Object.keys(rolesOf(await signedIn(scene))), ["default", "payments"]);
  await scene.server.stop();
  const later = await startOidcScene(t, {}, {}, { idp: scene.idp, data: scene.server.data });
  assert.deepEqual(Object.keys(rolesOf(await signedIn(later))), ["default", "payments"]);
  await later.server.stop();
  const settings = { oidc_roles: "approvers=reviewer" };
  const last = await startOidcScene(t, settings, {}, { idp: scene.idp, data: scene.server.data });
  assert.deepEqual(Object.keys(rolesOf(await signedIn(last))), ["default"]);
});

test("[ours.oidc.identity] a new name and a new login at the provider keep the same account", async (t) => {
  const scene = await startOidcScene(t);
  const before = await signedIn(scene);
  scene.idp.account = { ...scene.idp.account, preferred_username: "ana.costa", name: "Ana Costa" };
  const { person, project } = await signedIn(scene);
  assert.deepEqual(person, { ...before.person, name: "Ana Costa" });
  assert.equal(project?.reviewer.name, "ana");
});

test("[ours.oidc.identity] another subject with the same login is another person", async (t) => {
  const scene = await startOidcScene(t);
  await signedIn(scene);
  scene.idp.account = { ...scene.idp.account, sub: "another" };
  assert.match(await refused(scene), /Another account has the login ana/);
});

test("[ours.oidc.identity] a sign-in does not take over a local account with the same login", async (t) => {
  const scene = await startOidcScene(t);
  const local = await newPerson(scene.server, { login: "ana", role: "admin" });
  const message = await refused(scene);
  assert.match(message, /countersign people link ana --subject ana-1/);
  const people = await scene.server.provider.context.store.all("select * from person");
  assert.deepEqual(
    people.map(({ id, oidc_subject }) => [id, oidc_subject]),
    [[local.id, null]],
  );
});

test("[ours.oidc.identity] a sign-in does not take over a reviewer of the same name with tokens", async (t) => {
  const scene = await startOidcScene(t);
  await scene.server.token({ kind: "reviewer", name: "ana", role: "admin" });
  assert.match(await refused(scene), /Another reviewer of a project has the name ana/);
  assert.deepEqual(await scene.server.provider.context.store.all("select id from person"), []);
});

test("[ours.oidc.identity] a subject with anything in it is shown as one word for a shell", async (t) => {
  const scene = await startOidcScene(t);
  await newPerson(scene.server, { login: "ana" });
  scene.idp.account = { ...scene.idp.account, sub: "a'; rm -rf $HOME <b>" };
  const page = await scene.signIn();
  assert.ok(!page.text.includes("<b>"));
  assert.match(await refused(scene), /--subject 'a'\\''; rm -rf \$HOME <b>'/);
});

test("[ours.oidc.identity] the server rejects a disabled person", async (t) => {
  const scene = await startOidcScene(t);
  const { person } = await signedIn(scene);
  await scene.server.provider.context.store.transact((tx) =>
    tx.run("update person set disabled_at = 1 where id = $1", [person.id]),
  );
  assert.match(await refused(scene), /disabled/);
});

test("[ours.oidc.identity] first sign-ins at the same time make one person", async (t) => {
  const scene = await startOidcScene(t);
  const pages = await Promise.all(Array.from({ length: 6 }, () => scene.signIn()));
  const statuses = pages.map(({ status }) => status);
  assert.ok(statuses.includes(200), statuses.join());
  const { store } = scene.server.provider.context;
  assert.equal((await store.all("select id from person")).length, 1);
  assert.equal((await store.all("select id from reviewer where name = 'ana'")).length, 1);
  await signedIn(scene);
});

test("[ours.oidc.groups] groups that the provider left out remove no power", async (t) => {
  const scene = await startOidcScene(t);
  const browser = new FetchBrowser();
  const before = await signedIn(scene, browser);
  const { groups: _, ...bare } = scene.idp.account;
  scene.idp.account = { ...bare, _claim_names: { groups: "src1" } };
  assert.match(await refused(scene), /more groups than the identity provider sends/);
  assert.deepEqual((await session(scene, browser)).json.projects, before.projects);
});

test("[ours.oidc.link] a user that an operator linked signs in to the existing account", async (t) => {
  const scene = await startOidcScene(t);
  const { context } = scene.server.provider;
  const local = await newPerson(scene.server, { login: "ana", role: "admin", groups: ["dba"] });
  const elsewhere = { login: "li", project: "elsewhere", role: "editor" } as const;
  const li = await newPerson(scene.server, elsewhere);
  await linkPerson(context, { login: "ana", subject: "ana-1" });
  const { person, project } = await signedIn(scene);
  assert.equal(person.id, local.id);
  // The provider wins from the first sign-in on.
  assert.deepEqual([project?.role, project?.groups], ["reviewer", []]);
  await assert.rejects(
    linkPerson(context, { login: "li", subject: "ana-1" }),
    /Another account is linked/,
  );
  // Only roles in projects that no mapping names remain.
  await linkPerson(context, { login: "li", subject: "li-1" });
  scene.idp.account = { sub: "li-1", preferred_username: "ana", groups: [] };
  const shown = await signedIn(scene);
  assert.equal(shown.person.id, li.id);
  assert.deepEqual(rolesOf(shown), { elsewhere: "editor" });
});

test("[ours.oidc.link] a user with a removed link is signed out and rejected", async (t) => {
  const scene = await startOidcScene(t);
  const { context } = scene.server.provider;
  const browser = new FetchBrowser();
  await signedIn(scene, browser);
  await linkPerson(context, { login: "ana", subject: null });
  assert.equal((await session(scene, browser)).status, 401);
  assert.match(await refused(scene), /Another account has the login ana/);
});

test("[ours.oidc.only] with oidc_only only the break-glass login uses a password", async (t) => {
  const settings = { ...ROLES, oidc_only: "true", oidc_break_glass: "Glass" };
  const scene = await startOidcScene(t, settings);
  await newPerson(scene.server, { login: "glass", role: "operator" });
  await assert.rejects(
    newPerson(scene.server, { login: "li" }),
    /Sign in at the identity provider/,
  );
  const sign = (login: string) => {
    const body = { login, password: "correct horse battery staple" };
    return callAs<ErrorResponse>(scene.server, undefined, "POST", "/session", { body });
  };
  assert.equal((await sign("li")).json.error.code, "forbidden");
  assert.equal((await sign("GLASS")).json.error.code, "invalid_credential");
  assert.equal((await signedIn(scene)).person.login, "ana");
});

test("[ours.oidc.there] a user of the provider cannot sign in with a password, passkey or link", async (t) => {
  const scene = await startOidcScene(t);
  const { server, idp } = scene;
  const { context } = server.provider;
  const browser = new FetchBrowser();
  const { person } = await signedIn(scene, browser);
  const cookie = browser.cookies.get(SESSION_COOKIE) ?? "";
  const password = "correct horse battery staple";
  const change = { body: { new_password: password } };
  const changed = await callAs(server, { cookie }, "PUT", "/account/password", change);
  assert.equal(changed.status, 200, changed.text);
  idp.account = { ...idp.account, groups: [] };
  const sign = (given: string) => {
    const body = { login: person.login, password: given };
    return callAs<ErrorResponse>(server, undefined, "POST", "/session", { body });
  };
  assertRefused(await sign(password), 403, "forbidden");
  assertRefused(await sign("another horse and battery"), 401, "invalid_credential");
  const token = await makeReturnLink(context, person.login);
  const use = { body: { token, password } };
  const back = await callAs(server, undefined, "POST", "/invitation/use", use);
  assertRefused(back, 403, "forbidden");
  await linkPerson(context, { login: person.login, subject: null });
  assert.equal((await sign(password)).status, 200);
});
