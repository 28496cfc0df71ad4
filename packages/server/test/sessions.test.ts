import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { asPage, callAs, cookieSet, newPerson, type SignedInPerson } from "./support/people.ts";
import { auditOf, startScene } from "./support/scene.ts";
import { type Call, SUBMISSION } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, clock } = scene;
const { store } = server.provider.context;

let logins = 0;

function person(order: Partial<Parameters<typeof newPerson>[1]> = {}): Promise<SignedInPerson> {
  return newPerson(server, { login: `person${++logins}`, ...order });
}

interface Session {
  readonly person: { readonly id: string; readonly login: string; readonly name: string };
  readonly session: { readonly id: string; readonly method: string; readonly idle_at: string };
  readonly project: { readonly id: string; readonly role: string } | null;
  readonly projects: readonly { readonly id: string; readonly name: string }[];
}

function session(who: SignedInPerson, call: Call = {}) {
  return callAs<Session>(server, who, "GET", "/session", call);
}

async function statusOf(who: SignedInPerson): Promise<number> {
  return (await session(who)).status;
}

test("[ours.sign-in.session] a session returns the user, the project and its end", async () => {
  const ana = await person({ role: "admin", groups: ["dba"] });
  const { status, json, headers } = await session(ana);
  assert.equal(status, 200);
  assert.deepEqual(json.person, { id: ana.id, login: ana.login, name: ana.login });
  assert.equal(json.session.method, "password");
  const [project] = json.projects;
  assert.deepEqual(project, json.project);
  assert.deepEqual([json.project?.id, json.project?.role], [ana.projectId, "admin"]);
  assert.equal(headers.get("cache-control"), "no-store");
});

test("[ours.sign-in.session] a signed-in user has the permissions of their role on the reviewer surface, under their own name", async () => {
  const ana = await person();
  const viewer = await person({ role: "viewer" });
  const { id } = await server.submit(scene.instance.token);
  const shown = await callAs<{ arguments_sha256: string }>(server, ana, "GET", `/requests/${id}`);
  const body = { verdict: "approve", arguments_sha256: shown.json.arguments_sha256 };
  const path = `/requests/${id}/verdict`;
  assertRefused(await callAs(server, viewer, "POST", path, { body }), 403, "forbidden");
  const decided = await callAs<{ decided_by: string }>(server, ana, "POST", path, { body });
  assert.equal(decided.status, 200, decided.text);
  const row = await store.get("select id from reviewer where person_id = $1", [ana.id]);
  assert.equal(decided.json.decided_by, `reviewer:${row?.id}`);
});

test("[ours.sign-in.session] a session ends an hour after its last use, and twelve hours after it began", async () => {
  const idle = await person();
  const busy = await person();
  for (let hour = 0; hour < 12; hour++) {
    clock.advance(3_599_999);
    assert.equal(await statusOf(busy), 200, `after ${hour + 1} h`);
  }
  assert.equal(await statusOf(idle), 401);
  clock.advance(12);
  assert.equal(await statusOf(busy), 401);
});

test("[ours.sign-in.session] an hour without use ends a session to the millisecond", async () => {
  const [one, two] = [await person(), await person()];
  clock.advance(3_599_999);
  assert.equal(await statusOf(one), 200);
  clock.advance(1);
  assert.equal(await statusOf(two), 401);
});

test("[ours.sign-in.sign-out] signing out ends the session for every copy of its cookie", async () => {
  const ana = await person();
  const { json } = await session(ana);
  const answer = await callAs(server, ana, "DELETE", "/session");
  assert.deepEqual([answer.status, cookieSet(answer)], [200, ""]);
  assertRefused(await session(ana), 401, "invalid_credential");
  const audit = await auditOf(scene, `session:${json.session.id}`);
  assert.deepEqual(
    audit.map(({ kind, actor }) => [kind, actor]),
    [
      ["session.begun", `person:${ana.id}`],
      ["session.ended", `person:${ana.id}`],
    ],
  );
});

test("[ours.sign-in.at-once] a user who is disabled, or removed from the project, is locked out at the next exchange", async () => {
  const [disabled, removed] = [await person(), await person()];
  const now = clock.now();
  await store.transact(async (tx) => {
    await tx.run("update person set disabled_at = $1 where id = $2", [now, disabled.id]);
    await tx.run("update reviewer set removed_at = $1 where person_id = $2", [now, removed.id]);
  });
  assertRefused(await session(disabled), 401, "invalid_credential");
  assertRefused(await callAs(server, disabled, "GET", "/requests"), 401, "invalid_credential");
  assertRefused(await callAs(server, removed, "GET", "/requests"), 403, "forbidden");
  const { json } = await session(removed);
  assert.deepEqual([json.project, json.projects], [null, []]);
});

const CROSS: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["another site", { "sec-fetch-site": "cross-site" }],
  ["a neighbour under the same domain", { "sec-fetch-site": "same-site" }],
  ["a page that the user opened directly", { "sec-fetch-site": "none" }],
  ["another origin, from an old browser", { origin: "https://evil.example" }],
  ["an opaque origin", { origin: "null" }],
  ["a page without these headers", {}],
  ["one who says our origin and another site", { "sec-fetch-site": "cross-site", origin: "ours" }],
];

test("[ours.sign-in.cross-origin] a state-changing call is rejected unless the browser states the origin of the server", async () => {
  const ana = await person();
  const { cookie = "" } = asPage(ana);
  for (const [name, headers] of CROSS) {
    const origin = headers.origin === "ours" ? { origin: server.url } : {};
    const call = { headers: { cookie, ...headers, ...origin } };
    const answer = await server.call("DELETE", "/review/v1/session", call);
    assertRefused(answer, 403, "cross_origin", undefined);
    assert.equal(await statusOf(ana), 200, name);
  }
  const origin = { headers: { cookie, origin: server.url } };
  assert.equal((await server.call("DELETE", "/review/v1/session", origin)).status, 200);
});

test("[ours.sign-in.cross-origin] a GET needs no such header, because it changes nothing", async () => {
  const { cookie = "" } = asPage(await person());
  const call = { headers: { cookie, "sec-fetch-site": "cross-site" } };
  assert.equal((await server.call("GET", "/review/v1/session", call)).status, 200);
});

test("[ours.sign-in.cross-origin] an audited GET cannot be started by a link on another site", async () => {
  const { cookie = "" } = asPage(await person());
  const take = (site: string) => {
    const headers = { cookie, "sec-fetch-site": site };
    return server.call("GET", "/review/v1/history/export?format=csv", { headers });
  };
  for (const site of ["cross-site", "same-site"]) {
    assertRefused(await take(site), 403, "cross_origin", undefined);
  }
  const sql = "select count(*) as count from audit_entry where kind = 'history.exported'";
  assert.equal(Number((await store.get(sql, []))?.count), 0);
  for (const site of ["same-origin", "none"]) assert.equal((await take(site)).status, 200);
});

test("[ours.sign-in.cookie] a cookie has no effect on the contract surface, and none beside a token", async () => {
  const headers = asPage(await person());
  const call = { headers, key: "k", body: SUBMISSION };
  assertRefused(await server.call("POST", "/v1/requests", call), 401, "invalid_credential");
  const instance = { headers, token: scene.instance.token };
  const wrong = await server.call("GET", "/review/v1/requests", instance);
  assertRefused(wrong, 403, "wrong_credential_kind");
  const broken = { headers: { ...headers, authorization: "Bearer nonsense" } };
  assertRefused(await server.call("GET", "/review/v1/requests", broken), 401, "invalid_credential");
});

test("[ours.sign-in.cookie] a cookie that is malformed, huge, unknown or sent twice returns 401", async () => {
  const ana = await person();
  const other = await person();
  const name = "__Host-countersign";
  const cookies = [
    `${name}=`,
    name,
    `${name}=${ana.cookie}x`,
    `${name}="${ana.cookie}"`,
    `${name}=${"a".repeat(43)}`,
    `${name}=${"a".repeat(8_000)}`,
    `${name}=${ana.cookie}; ${name}=${other.cookie}`,
    `${name}=${ana.cookie}; ${name}=${ana.cookie}`,
    `countersign=${ana.cookie}`,
    `__host-countersign=${ana.cookie}`,
  ];
  for (const cookie of cookies) {
    const call = { headers: { "sec-fetch-site": "same-origin", cookie } };
    const answer = await server.call("GET", "/review/v1/session", call);
    assertRefused(answer, 401, "invalid_credential");
  }
  const amid = `a=b; ${name}=${ana.cookie}; c`;
  const found = await server.call("GET", "/review/v1/session", { headers: { cookie: amid } });
  assert.equal(found.status, 200);
});

test("[ours.sign-in.cookie] HEAD and OPTIONS with a cookie do nothing", async () => {
  const ana = await person();
  for (const method of ["HEAD", "OPTIONS"]) {
    const response = await fetch(`${server.url}/review/v1/session`, {
      method,
      headers: asPage(ana),
    });
    assert.equal(response.status, 405, method);
  }
  assert.equal(await statusOf(ana), 200);
});

test("[ours.sign-in.session] the database contains only the hash of the cookie of a session", async () => {
  const ana = await person();
  const rows = await store.all("select * from session where person_id = $1", [ana.id]);
  assert.equal(rows.length, 1);
  assert.ok(!JSON.stringify(rows).includes(ana.cookie));
});
