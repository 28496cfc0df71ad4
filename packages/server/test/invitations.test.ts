import assert from "node:assert/strict";
import { after, test } from "node:test";
import { makeSetupLink } from "../src/operations/sign-in/makeSetupLink.ts";
import { assertRefused } from "./support/envelope.ts";
import { callAs, cookieSet, newPerson } from "./support/people.ts";
import { auditOf, startScene } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, clock } = scene;
const { store, passwords } = server.provider.context;

const PASSWORD = "seven grey herons wait";

interface Invitation {
  readonly id: string;
  readonly state: string;
  readonly name: string;
  readonly role: string;
  readonly groups: readonly string[];
  readonly url: string;
  readonly created_by: string;
}

let testProjects = 0;

/** A project of its own, and an admin's token for it. */
async function newTestProject(role: "admin" | "operator" = "admin") {
  const project = `house${++testProjects}`;
  const order = { kind: "reviewer", project, name: "boss", role } as const;
  return { project, admin: await server.token(order) };
}

function invite(token: string, body: object): Promise<Answer<Invitation>> {
  return server.call("POST", "/review/v1/invitations", { token, body });
}

async function invited(token: string, body: object): Promise<Invitation & { token: string }> {
  // The newest is listed first.
  clock.advance(1);
  const { status, text, json } = await invite(token, body);
  assert.equal(status, 201, text);
  return { ...json, token: json.url.split("#")[1] ?? "" };
}

async function listed(token: string): Promise<readonly Invitation[]> {
  const path = "/review/v1/invitations";
  const { json } = await server.call<{ invitations: Invitation[] }>("GET", path, { token });
  return json.invitations;
}

let logins = 0;

function use(token: string, body: object = {}): Promise<Answer> {
  const all = { token, login: `invited${++logins}`, password: PASSWORD, ...body };
  return callAs(server, undefined, "POST", "/invitation/use", { body: all });
}

function showInvitation(token: string): Promise<Answer> {
  return callAs(server, undefined, "POST", "/invitation", { body: { token } });
}

interface Session {
  readonly person: { readonly id: string; readonly name: string };
  readonly project: {
    readonly name: string;
    readonly role: string;
    readonly groups: readonly string[];
    readonly reviewer: { readonly id: string; readonly name: string };
  };
}

test("[ours.sign-in.invitation] a user of an invitation becomes the reviewer that it names, and is signed in", async () => {
  const { project, admin } = await newTestProject();
  const made = await invited(admin, { name: "li", role: "reviewer", groups: ["dba", "app"] });
  assert.ok(made.url.startsWith(`${server.url}/invitation#`), made.url);
  const { json: seen } = await showInvitation(made.token);
  assert.deepEqual(
    { ...(seen as object), expires_at: undefined },
    {
      kind: "join",
      project,
      role: "reviewer",
      groups: ["app", "dba"],
      name: "li",
      login: null,
      expires_at: undefined,
    },
  );
  const answer = await use(made.token, { name: "Li Wei" });
  assert.equal(answer.status, 201, answer.text);
  const cookie = cookieSet(answer) ?? "";
  const { json } = await callAs<Session>(server, { cookie }, "GET", "/session");
  assert.equal(json.person.name, "Li Wei");
  assert.deepEqual(
    [json.project.name, json.project.role, json.project.groups, json.project.reviewer.name],
    [project, "reviewer", ["app", "dba"], "li"],
  );
  const kinds = (await auditOf(scene, `invitation:${made.id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["invitation.made", "invitation.used"]);
  const person = await auditOf(scene, `person:${json.person.id}`);
  assert.deepEqual(
    person.map(({ kind }) => kind),
    ["person.created", "password.changed"],
  );
  const [reviewer] = await auditOf(scene, `reviewer:${json.project.reviewer.id}`);
  assert.deepEqual(
    [reviewer?.kind, reviewer?.actor],
    ["reviewer.created", `person:${json.person.id}`],
  );
});

test("[ours.sign-in.invitation] it works once, and not after it expired or was revoked; its secret is in no list and no row", async () => {
  const { admin } = await newTestProject();
  const [used, old, revoked] = [
    await invited(admin, { name: "one" }),
    await invited(admin, { name: "two", lasts: "1h" }),
    await invited(admin, { name: "three" }),
  ];
  assert.equal((await use(used.token)).status, 201);
  assertRefused(await use(used.token), 404, "not_found");
  const path = `/review/v1/invitations/${revoked.id}`;
  assert.equal((await server.call("DELETE", path, { token: admin })).status, 200);
  assertRefused(await server.call("DELETE", path, { token: admin }), 404, "not_found");
  const gone = `/review/v1/invitations/${used.id}`;
  assertRefused(await server.call("DELETE", gone, { token: admin }), 404, "not_found");
  clock.advance(3_600_000);
  for (const { token } of [used, old, revoked]) {
    assertRefused(await showInvitation(token), 404, "not_found");
    assertRefused(await use(token), 404, "not_found");
  }
  const list = await listed(admin);
  assert.deepEqual(
    list.map(({ name, state }) => [name, state]),
    [
      ["two", "expired"],
      ["one", "used"],
    ],
  );
  const rows = JSON.stringify([
    list,
    await store.all("select * from invitation"),
    await store.all("select * from audit_entry"),
  ]);
  for (const { token } of [used, old, revoked]) assert.ok(!rows.includes(token));
});

test("[ours.sign-in.invitation.power] inviting requires the power people, and assigns no power that the inviter lacks", async () => {
  const { project, admin } = await newTestProject();
  for (const role of ["viewer", "reviewer", "editor", "auditor"] as const) {
    const token = await server.token({ kind: "reviewer", project, name: role, role });
    assertRefused(await invite(token, { name: "x" }), 403, "forbidden");
    const list = await server.call("GET", "/review/v1/invitations", { token });
    assertRefused(list, 403, "forbidden");
  }
  assertRefused(await invite(admin, { name: "x", role: "operator" }), 403, "forbidden");
  for (const role of ["viewer", "reviewer", "editor", "auditor", "admin"]) {
    await invited(admin, { name: `new ${role}`, role });
  }
  const { admin: operator } = await newTestProject("operator");
  await invited(operator, { name: "x", role: "operator" });
});

test("[ours.sign-in.invitation.power] an invitation ends when its creator is removed, loses the role or is disabled", async () => {
  const { project, admin: boss } = await newTestProject();
  const admins = [];
  for (const name of ["removed", "lowered", "disabled"]) {
    admins.push(await newPerson(server, { login: `${name}-${project}`, role: "admin", project }));
  }
  const links: string[] = [];
  for (const who of admins) {
    const body = { name: `by ${who.login}`, role: "admin" };
    const made = await callAs<Invitation>(server, who, "POST", "/invitations", { body });
    links.push(made.json.url.split("#")[1] ?? "");
  }
  const [removed, lowered, disabled] = admins.map(({ id }) => id);
  await store.transact(async (tx) => {
    const now = clock.now();
    const of = "where person_id = $1";
    await tx.run(`update reviewer set removed_at = ${now} ${of}`, [removed ?? ""]);
    await tx.run(`update reviewer set role = 'reviewer' ${of}`, [lowered ?? ""]);
    await tx.run(`update person set disabled_at = ${now} where id = $1`, [disabled ?? ""]);
  });
  for (const token of links) assertRefused(await use(token), 404, "not_found");
  assert.equal((await use((await invited(boss, { name: "fine" })).token)).status, 201);
});

test("[ours.sign-in.invitation] a reviewer with only tokens becomes a user with the same role; existing names are rejected", async () => {
  const { project, admin } = await newTestProject();
  const order = { kind: "reviewer", project, name: "ana", role: "editor" } as const;
  const token = await server.token({ ...order, groups: ["dba"] });
  const refused = await invite(admin, { name: "ana", role: "viewer" });
  assertRefused(refused, 400, "invalid_request", "role");
  const groups = await invite(admin, { name: "ana", groups: [] });
  assertRefused(groups, 400, "invalid_request", "groups");
  const made = await invited(admin, { name: "ana" });
  assert.deepEqual([made.role, made.groups], ["editor", ["dba"]]);
  const before = await store.get("select id from reviewer where name = 'ana' and project_id = $1", [
    (await server.provider.context.store.get("select id from project where name = $1", [project]))
      ?.id ?? "",
  ]);
  const cookie = cookieSet(await use(made.token)) ?? "";
  const { json } = await callAs<Session>(server, { cookie }, "GET", "/session");
  assert.equal(json.project.reviewer.id, before?.id);
  assert.equal((await server.call("GET", "/review/v1/requests", { token })).status, 200);

  assertRefused(await invite(admin, { name: "ana" }), 400, "invalid_request", "name");
  await server.token({ kind: "reviewer", project, name: "root", role: "operator" });
  assertRefused(await invite(admin, { name: "root" }), 403, "forbidden");
});

test("[ours.sign-in.invitation] a promoted reviewer or an existing name is rejected, and the link stays valid", async () => {
  const { project, admin } = await newTestProject();
  const early = await invited(admin, { name: "eve" });
  await server.token({ kind: "reviewer", project, name: "eve", role: "operator" });
  const login = "eve-who-is-not";
  assertRefused(await use(early.token, { login }), 400, "invalid_request", "name");
  const people = await store.all("select id from person where login = $1", [login]);
  assert.deepEqual(people, []);
  assert.equal((await showInvitation(early.token)).status, 200);

  const made = await invited(admin, { name: "mia" });
  await newPerson(server, { login: "mia-of-before" });
  const taken = await use(made.token, { login: "MIA-of-before" });
  assertRefused(taken, 400, "invalid_request", "login");
  assert.equal((await use(made.token)).status, 201);
});

test("[ours.sign-in.invitation] a signed-in user joins another project, selects it, and needs no second account", async () => {
  const { project, admin } = await newTestProject();
  const ana = await newPerson(server, { login: `ana-${project}` });
  const { token } = await invited(admin, { name: "ana", role: "viewer" });
  const body = { token };
  const cross = { body, headers: { "sec-fetch-site": "cross-site" } };
  assertRefused(await callAs(server, ana, "POST", "/invitation/join", cross), 403, "cross_origin");
  const joined = await callAs<Session>(server, ana, "POST", "/invitation/join", { body });
  assert.deepEqual([joined.json.project.name, joined.json.project.role], [project, "viewer"]);
  assertRefused(await callAs(server, ana, "POST", "/invitation/join", { body }), 404, "not_found");
  const again = await invited(admin, { name: "ana too" });
  const twice = { body: { token: again.token } };
  assertRefused(
    await callAs(server, ana, "POST", "/invitation/join", twice),
    400,
    "invalid_request",
  );
  assert.equal((await showInvitation(again.token)).status, 200);
});

test("[ours.sign-in.invitation] a user removed from a project joins again with another invitation, as another reviewer", async () => {
  const { project, admin } = await newTestProject();
  const ana = await newPerson(server, { login: `back-${project}`, project });
  await store.transact((tx) =>
    tx.run("update reviewer set removed_at = 1 where person_id = $1", [ana.id]),
  );
  assertRefused(await invite(admin, { name: ana.login }), 400, "invalid_request", "name");
  const { token } = await invited(admin, { name: "ana again" });
  const call = { body: { token } };
  const joined = await callAs<Session>(server, ana, "POST", "/invitation/join", call);
  assert.equal(joined.status, 200, joined.text);
  assert.equal(joined.json.project.reviewer.name, "ana again");
  const rows = await store.all("select name from reviewer where person_id = $1", [ana.id]);
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["ana again"],
  );
});

test("[ours.sign-in.invitation] an unknown link is rejected like an expired one, before the server hashes a password", async (t) => {
  const hash = t.mock.method(passwords, "hash");
  for (const token of ["none", "a".repeat(43), "é".repeat(43), "a".repeat(4_000)]) {
    assertRefused(await showInvitation(token), 404, "not_found");
    assertRefused(await use(token), 404, "not_found");
  }
  assert.equal(hash.mock.callCount(), 0);
  const body = { token: "a".repeat(9_000) };
  const long = await callAs(server, undefined, "POST", "/invitation", { body });
  assertRefused(long, 400, "body_too_large", "body");
});

test("[ours.sign-in.setup] the first person is made by one link, the last that was made, once and by one of many", async (t) => {
  const { server: fresh } = await startScene(t);
  const { context } = fresh.provider;
  const [first, second] = [
    await makeSetupLink(context, "default"),
    await makeSetupLink(context, "default"),
  ];
  const tryToUse = (token: string, login: string) => {
    const body = { token, login, name: login, password: PASSWORD };
    return callAs(fresh, undefined, "POST", "/invitation/use", { body });
  };
  assertRefused(await tryToUse(first, "ana"), 404, "not_found");
  const answers = await Promise.all(["ana", "eve", "mia"].map((who) => tryToUse(second, who)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 404, 404]);
  const winner = answers.find(({ status }) => status === 201)?.json as Session | undefined;
  assert.deepEqual([winner?.project.name, winner?.project.role], ["default", "operator"]);
  await assert.rejects(makeSetupLink(context, "default"), { code: "forbidden" });
});

test("[ours.sign-in.setup] a setup link becomes invalid when a first user exists, and after a day", async (t) => {
  const own = await startScene(t);
  const { context } = own.server.provider;
  const opened = (token: string) =>
    callAs(own.server, undefined, "POST", "/invitation", { body: { token } });
  const old = await makeSetupLink(context, "default");
  own.clock.advance(24 * 3_600_000 - 1);
  assert.equal((await opened(old)).status, 200);
  own.clock.advance(1);
  assertRefused(await opened(old), 404, "not_found");
  const fresh = await makeSetupLink(context, "default");
  await newPerson(own.server, { login: "ana" });
  assertRefused(await opened(fresh), 404, "not_found");
});
