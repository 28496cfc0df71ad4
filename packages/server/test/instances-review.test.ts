/**
 * Groups and owners of instances, and roles and groups of reviewers: what rules name them by.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import { createToken, listReviewers, setReviewer } from "../src/index.ts";
import { assertRefused } from "./support/envelope.ts";
import { auditOf, startScene, submitBody } from "./support/scene.ts";
import { type Answer, SUBMISSION } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, clock, reviewer } = scene;
const { context } = server.provider;

const admin = await server.token({ kind: "reviewer", name: "root", role: "admin" });
await server.token({ kind: "reviewer", name: "ana" });

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly owner: string | null;
  readonly created_at: string;
}

const PATH = "/review/v1/instances";

function show(id: string, token = reviewer): Promise<Answer<Shown>> {
  return server.call("GET", `${PATH}/${id}`, { token });
}

function change(id: string, body: unknown, token = admin): Promise<Answer<Shown & ErrorResponse>> {
  return server.call("PATCH", `${PATH}/${id}`, { token, body });
}

async function reviewerId(name: string): Promise<string> {
  const reviewers = await listReviewers(context, "default");
  return reviewers.find((each) => each.name === name)?.id ?? "";
}

test("[ours.groups.instances] a new instance has no groups and no owner", async () => {
  const { id } = await server.instance();
  const created_at = new Date(clock.now()).toISOString();
  const before = await show(id);
  assert.equal(before.status, 200);
  const { name } = before.json;
  const idle = { pending: 0, last_request_at: null, receiver: null };
  assert.deepEqual(before.json, { id, name, groups: [], owner: null, created_at, ...idle });
  const answer = await change(id, { groups: ["bots", "a.b", "bots"], owner: "ana" });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, { ...before.json, groups: ["a.b", "bots"], owner: "ana" });
  assert.deepEqual((await show(id)).json, answer.json);
});

test("[ours.groups.instances] an omitted member stays, and null removes the owner", async () => {
  const { id } = await server.instance();
  await change(id, { groups: ["bots"], owner: "ana" });
  assert.deepEqual((await change(id, { groups: [] })).json.owner, "ana");
  const { groups, owner } = (await change(id, { groups: ["x"], owner: null })).json;
  assert.deepEqual([groups, owner], [["x"], null]);
  assert.deepEqual((await change(id, { owner: "ana" })).json.groups, ["x"]);
  assert.equal((await change(id, {})).json.owner, "ana");
});

test("[ours.groups.instances] each change is in the audit log with its author; an unchanged value writes no entry", async () => {
  const { id } = await server.instance();
  clock.advance(5);
  for (const _ of [1, 2]) await change(id, { groups: ["b", "a"], owner: "ana" });
  const rows = (await auditOf(scene, `instance:${id}`)).slice(1);
  const detail = { groups: ["a", "b"], owner_id: await reviewerId("ana") };
  const actor = `reviewer:${await reviewerId("root")}`;
  assert.deepEqual(rows, [{ at: clock.now(), kind: "instance.grouped", actor, detail }]);
});

test("[ours.groups.instances] only roles that may publish change anything", async () => {
  const { id } = await server.instance();
  for (const role of ["viewer", "reviewer", "editor", "admin", "operator"] as const) {
    const token = await server.token({ kind: "reviewer", name: `as-${role}`, role });
    const answer = await change(id, { groups: [role] }, token);
    if (role === "viewer" || role === "reviewer") assertRefused(answer, 403, "forbidden");
    else assert.deepEqual(answer.json.groups, [role]);
    assert.equal((await show(id, token)).status, 200);
  }
});

test("[ours.groups.instances] [ours.review.credential-kinds] an instance and its provisioner cannot choose them", async () => {
  const { id, token, provisioner } = await server.instance();
  for (const other of [token, provisioner]) {
    assertRefused(await change(id, { groups: ["bots"] }, other), 403, "wrong_credential_kind");
    assertRefused(await show(id, other), 403, "wrong_credential_kind");
  }
  const body = { instance_name: "x", groups: ["bots"] };
  const call = { token: provisioner, key: server.freshKey(), body };
  assert.equal((await server.call("PATCH", `/v1/instances/${id}`, call)).status, 400);
  assert.deepEqual((await show(id)).json.groups, []);
});

test("[ours.groups.instances] invalid names, unknown owners and unknown fields return an error with their field", async () => {
  const { id } = await server.instance();
  const many = Array.from({ length: 33 }, (_, i) => `g${i}`);
  await server.token({ kind: "reviewer", name: "stranger", project: "elsewhere" });
  const cases: readonly (readonly [unknown, string])[] = [
    [{ groups: ["Bots"] }, "groups"],
    [{ groups: ["ok", ""] }, "groups"],
    [{ groups: "bots" }, "groups"],
    [{ groups: null }, "groups"],
    [{ groups: [1] }, "groups"],
    [{ groups: many }, "groups"],
    [{ owner: "" }, "owner"],
    [{ owner: "nobody" }, "owner"],
    [{ owner: "a\0b" }, "owner"],
    [{ owner: "stranger" }, "owner"],
    [{ owner: 7 }, "owner"],
    [{ name: "x" }, "name"],
    [[], "body"],
  ];
  for (const [body, param] of cases) {
    assertRefused(await change(id, body), 400, "invalid_request", param);
  }
  assert.equal((await change(id, { groups: many.slice(1) })).status, 200);
});

test("[ours.groups.instances] an instance that is deleted, unknown or of another project returns 404", async () => {
  const elsewhere = await server.instance("elsewhere");
  const gone = await server.instance();
  await server.call("DELETE", `/v1/instances/${gone.id}`, { token: gone.provisioner });
  for (const id of [elsewhere.id, gone.id, randomUUID(), "x"]) {
    assertRefused(await show(id), 404, "not_found");
    assertRefused(await change(id, { groups: ["bots"] }), 404, "not_found");
    const kinds = (await auditOf(scene, `instance:${id}`)).map(({ kind }) => kind);
    assert.ok(!kinds.includes("instance.grouped"));
  }
});

test("[ours.groups.instances] instances are listed in pages, each once, without deleted and other projects' ones", async () => {
  const project = "pages";
  const token = await server.token({ kind: "reviewer", project });
  const made: string[] = [];
  for (let i = 0; i < 5; i++) {
    clock.advance(1);
    const one = await server.instance(project);
    if (i === 2) await server.call("DELETE", `/v1/instances/${one.id}`, { token: one.provisioner });
    else made.push(one.id);
  }
  type Page = Answer<{ instances: Shown[]; next: string | null } & ErrorResponse>;
  const page = (query: string): Promise<Page> => server.call("GET", PATH + query, { token });
  const listed: string[] = [];
  let next: string | null = "";
  for (let query = "?limit=2"; next !== null; query = `?limit=2&after=${next}`) {
    const { json } = await page(query);
    listed.push(...json.instances.map(({ id }) => id));
    next = json.next;
  }
  assert.deepEqual(listed, made);
  for (const query of ["?limit=0", "?limit=201", "?limit=x"]) {
    assertRefused(await page(query), 400, "invalid_request", "limit");
  }
  assertRefused(await page("?after=x"), 400, "invalid_request", "after");
});

test("[ours.groups.instances] a change of groups does not affect the running instance", async () => {
  const { id, token } = await server.instance();
  const [answer, ...submitted] = await Promise.all([
    change(id, { groups: ["bots"] }),
    ...[1, 2, 3].map(() => submitBody(server, token, SUBMISSION)),
  ]);
  assert.equal(answer.status, 200);
  for (const { status } of submitted) assert.equal(status, 201);
});

test("[ours.groups.reviewers] a reviewer is made with role and groups, and keeps them with every further token", async () => {
  const order = { kind: "reviewer", name: "eve", project: "default", expiresAt: null } as const;
  await createToken(context, { ...order, role: "admin", groups: ["lead", "dba", "dba"] });
  const eve = async () =>
    (await listReviewers(context, undefined)).find(({ name }) => name === "eve");
  const groups = ["dba", "lead"];
  const { id = "", ...made } = (await eve()) ?? {};
  assert.deepEqual(made, {
    name: "eve",
    role: "admin",
    groups,
    project: "default",
    isBot: false,
    personId: null,
    removedAt: null,
  });
  await createToken(context, order);
  await createToken(context, { ...order, role: "admin", groups });
  for (const other of [{ role: "reviewer" }, { groups: ["dba"] }, { groups: [] }] as const) {
    const refused = createToken(context, { ...order, ...other });
    await assert.rejects(refused, /The reviewer eve .*; change it with countersign reviewers set/);
  }
  await assert.rejects(createToken(context, { ...order, name: "new", groups: ["A"] }), /groups/);
  assert.deepEqual(await eve(), { id, ...made });
  const [created] = await auditOf(scene, `reviewer:${id}`);
  assert.deepEqual(created?.detail, { role: "admin", groups });
});

test("[ours.groups.reviewers] role and groups are changed at once, with all tokens, and it is in the audit log", async () => {
  const token = await server.token({ kind: "reviewer", name: "mover" });
  const set = (rest: object) => {
    const change = { project: "default", name: "mover", role: undefined, groups: undefined };
    return setReviewer(context, { ...change, ...rest });
  };
  const { id } = await server.submit(scene.instance.token);
  assert.deepEqual((await set({ groups: ["b", "a"] })).groups, ["a", "b"]);
  assert.equal((await set({ role: "viewer" })).role, "viewer");
  assertRefused(await server.decide(token, id, "approve"), 403, "forbidden");
  clock.advance(3);
  await set({ role: "operator" });
  assert.equal((await server.decide(token, id, "approve")).status, 200);
  await set({ role: "operator", groups: ["a", "b"] });
  const rows = (await auditOf(scene, `reviewer:${await reviewerId("mover")}`)).slice(1);
  assert.deepEqual(
    rows.map(({ kind, actor, detail }) => ({ kind, actor, ...detail })),
    [
      { role: "reviewer", groups: ["a", "b"] },
      { role: "viewer", groups: ["a", "b"] },
      { role: "operator", groups: ["a", "b"] },
    ].map((detail) => ({ kind: "reviewer.updated", actor: "operator:cli", ...detail })),
  );
  await assert.rejects(set({ name: "nobody" }), /The project has no reviewer "nobody"/);
  await assert.rejects(set({ project: "nowhere" }), /No project has the name "nowhere"/);
  await assert.rejects(set({ groups: ["A"] }), /groups must be/);
  await assert.rejects(listReviewers(context, "nowhere"), /No project has the name "nowhere"/);
});
