import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { advanceUntil } from "./support/advance.ts";
import { assertRefused } from "./support/envelope.ts";
import {
  GRANTS,
  grantEdits,
  listGrants,
  makeGrant,
  type ReviewedGrant,
  revokeGrant,
  showGrant,
  tryGrant,
} from "./support/grants.ts";
import { auditOf, startScene } from "./support/scene.ts";
import { newTestProject, type TestProject } from "./support/test-projects.ts";

const scene = await startScene({ after });
const { server, clock } = scene;

const grant = (testProject: TestProject, body?: object) => grantEdits(server, testProject, body);

async function statusOf(
  { instance }: TestProject,
  fields: object = { tool: "edit" },
): Promise<string> {
  return (await server.submit(instance.token, fields)).status;
}

test("[ours.grant.from-request] a request fills in instance, tool and session, whether it is pending or decided", async () => {
  const testProject = await newTestProject(server);
  const tool = "odd*name?\\";
  const fields = { tool, context: { session_id: "s1" } };
  const { id } = await server.submit(testProject.instance.token, fields);
  const made = await makeGrant(server, testProject.reviewer, { from_request: id });
  assert.deepEqual(
    [made.instance.id, made.tool, made.session],
    [testProject.instance.id, "odd\\*name\\?\\\\", "s1"],
  );
  assert.equal((await server.read(testProject.instance.token, id)).status, "pending");
  assert.equal(await statusOf(testProject, fields), "approved");
  assert.equal(await statusOf(testProject, { ...fields, tool: "oddXname!\\" }), "pending");
  assert.equal(await statusOf(testProject, { tool }), "pending");
  await server.decide(testProject.reviewer, id, "deny");
  const any = { from_request: id, any_session: true, tool: "*", calls: 1 };
  const wider = await makeGrant(server, testProject.reviewer, any);
  assert.deepEqual([wider.tool, wider.session], ["*", undefined]);
  const plain = await server.submit(testProject.instance.token, { tool: "x", context: { a: 1 } });
  assert.equal(plain.status, "approved");
  const bare = await makeGrant(server, testProject.reviewer, { from_request: plain.id });
  assert.equal(bare.session, undefined);
});

test("[ours.grant.revoke] a revoked grant answers nothing any more; revoking again changes nothing", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject);
  assert.equal(await statusOf(testProject), "approved");
  clock.advance(5);
  const revoked = await revokeGrant(server, testProject.reviewer, made.id);
  assert.equal(revoked.json.state, "revoked");
  assert.equal(revoked.json.revoked_at, new Date(clock.now()).toISOString());
  clock.advance(5);
  assert.equal((await revokeGrant(server, testProject.reviewer, made.id)).text, revoked.text);
  assert.equal(await statusOf(testProject), "pending");
  const audit = await auditOf(scene, `grant:${made.id}`);
  assert.deepEqual(
    audit.map(({ kind, actor }) => [kind, actor]),
    [
      ["grant.made", `reviewer:${made.reviewer.id}`],
      ["grant.revoked", `reviewer:${made.reviewer.id}`],
    ],
  );
  assert.deepEqual([audit[0]?.detail.calls_max, audit[1]?.detail.calls], [10, 1]);
});

test("[ours.grant.powers] reviewers who may decide create grants; their creators and users who may freeze or publish revoke them", async () => {
  const testProject = await newTestProject(server);
  const { project, instance } = testProject;
  const token = (role: "viewer" | "editor" | "reviewer" | "admin") =>
    server.token({ kind: "reviewer", project, name: role, role });
  const body = { instance_id: instance.id, tool: "edit" };
  for (const role of ["viewer", "editor"] as const) {
    assertRefused(await tryGrant(server, await token(role), body), 403, "forbidden");
  }
  const { id } = await grant(testProject);
  assertRefused(await revokeGrant(server, await token("viewer"), id), 403, "forbidden");
  assert.equal((await showGrant(server, await token("viewer"), id)).status, 200);
  for (const role of ["editor", "reviewer", "admin"] as const) {
    const made = await grant(testProject);
    const revoked = await revokeGrant(server, await token(role), made.id);
    assert.equal(revoked.json.state, "revoked", role);
  }
  const outsider = await newTestProject(server);
  assertRefused(await tryGrant(server, outsider.reviewer, body), 404, "not_found");
  assertRefused(await revokeGrant(server, outsider.reviewer, id), 404, "not_found");
  assertRefused(await showGrant(server, outsider.reviewer, id), 404, "not_found");
  assertRefused(await tryGrant(server, instance.token, body), 403, "wrong_credential_kind");
});

test("[ours.grant.list] active grants are listed of one instance", async () => {
  const testProject = await newTestProject(server);
  const first = await grant(testProject);
  clock.advance(1);
  const second = await grant(testProject);
  await grant(testProject, { instance_id: testProject.other.id });
  const ask = (query: string) =>
    server.call<{ grants: ReviewedGrant[]; next: string | null }>("GET", GRANTS + query, {
      token: testProject.reviewer,
    });
  const own = `instance_id=${testProject.instance.id}`;
  const page = (await ask(`?${own}&limit=1`)).json;
  assert.deepEqual([page.grants.map(({ id }) => id), page.next !== null], [[second.id], true]);
  const rest = (await ask(`?${own}&after=${page.next}`)).json;
  assert.deepEqual([rest.grants.map(({ id }) => id), rest.next], [[first.id], null]);
  assertRefused(await ask(`?state=ended&${own}`), 400, "invalid_request", "instance_id");
});

test("[ours.grant.list] grants of the project are listed page by page, active or ended", async () => {
  const testProject = await newTestProject(server);
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    clock.advance(1);
    ids.unshift((await grant(testProject, { calls: 1 })).id);
  }
  const paged: string[] = [];
  let next: string | null = null;
  do {
    const after: string = next === null ? "" : `&after=${next}`;
    const page = await server.call<{ grants: ReviewedGrant[]; next: string | null }>(
      "GET",
      `${GRANTS}?limit=2${after}`,
      { token: testProject.reviewer },
    );
    paged.push(...page.json.grants.map(({ id }) => id));
    next = page.json.next;
  } while (next !== null);
  assert.deepEqual(paged, ids);
  await revokeGrant(server, testProject.reviewer, ids[0] ?? "");
  await statusOf(testProject);
  assert.equal((await listGrants(server, testProject.reviewer)).length, 3);
  const ended = await listGrants(server, testProject.reviewer, "ended");
  assert.deepEqual(
    ended.map(({ id, state }) => [id, state]),
    [
      [ids[0], "revoked"],
      [ids[4], "exhausted"],
    ],
  );
  const [first] = await listGrants(server, testProject.reviewer);
  assert.deepEqual(first?.reviewer.name, "ana");
  const outsider = await newTestProject(server);
  assert.deepEqual(await listGrants(server, outsider.reviewer), []);
});

test("[ours.grant.bounds] an instance has at most 100 active grants", async () => {
  const testProject = await newTestProject(server);
  for (let i = 0; i < 100; i++) await grant(testProject);
  const body = { instance_id: testProject.instance.id, tool: "edit" };
  assertRefused(
    await tryGrant(server, testProject.reviewer, body),
    400,
    "invalid_request",
    "instance_id",
  );
});

test("[ours.grant.input] a grant with unknown, missing or wrong fields names the field and is not made", async () => {
  const testProject = await newTestProject(server);
  const good = { instance_id: testProject.instance.id, tool: "edit" };
  const { id } = await server.submit(testProject.instance.token);
  const elsewhere = await server.instance(testProject.project);
  const cases: readonly (readonly [object, string])[] = [
    [{ ...good, instance_id: undefined }, "instance_id"],
    [{ ...good, instance_id: "x" }, "instance_id"],
    [{ from_request: id, instance_id: elsewhere.id }, "instance_id"],
    [{ ...good, tool: undefined }, "tool"],
    [{ ...good, tool: "" }, "tool"],
    [{ ...good, tool: "x\\" }, "tool"],
    [{ ...good, tool: "x".repeat(513) }, "tool"],
    [{ ...good, when: "args." }, "when"],
    [{ ...good, when: '"text"' }, "when"],
    [{ ...good, when: "args.a.matches('x')" }, "when"],
    [{ ...good, when: "agent_reasoning == ''" }, "when"],
    [{ ...good, when: `args.a == "${"x".repeat(5_000)}"` }, "when"],
    [{ ...good, session: "" }, "session"],
    [{ ...good, session: 1 }, "session"],
    [{ ...good, session: "a", any_session: true }, "any_session"],
    [{ ...good, any_session: "yes" }, "any_session"],
    [{ ...good, turn: "t" }, "turn"],
    [{ ...good, session: "s", turn: "" }, "turn"],
    [{ ...good, session: "s", turn: 1 }, "turn"],
    [{ ...good, any_session: true, turn: "t" }, "any_session"],
    [{ ...good, same_turn: true }, "same_turn"],
    [{ ...good, same_turn: "yes" }, "same_turn"],
    [{ from_request: id, same_turn: true, session: "s" }, "same_turn"],
    [{ from_request: id, same_turn: true, any_session: true }, "same_turn"],
    [{ from_request: id, same_turn: true, session: "s", turn: "t" }, "same_turn"],
    [{ ...good, server: "files", any_server: true }, "any_server"],
    [{ ...good, any_server: 1 }, "any_server"],
    [{ ...good, note: "" }, "note"],
    [{ ...good, note: "x".repeat(2_001) }, "note"],
    [{ ...good, valid_for: "25h" }, "valid_for"],
    [{ ...good, valid_for: "soon" }, "valid_for"],
    [{ ...good, lasts: "25h" }, "lasts"],
    [{ ...good, lasts: "0s" }, "lasts"],
    [{ ...good, calls: 0 }, "calls"],
    [{ ...good, calls: 1_001 }, "calls"],
    [{ ...good, calls: "5" }, "calls"],
    [{ ...good, calls: 1.5 }, "calls"],
    [{ ...good, reviewer: "ana" }, "reviewer"],
    [{ from_request: "x" }, "from_request"],
  ];
  for (const [body, param] of cases) {
    const answer = await tryGrant(server, testProject.reviewer, body);
    assertRefused(answer, 400, "invalid_request", param);
  }
  const unknown = [{ from_request: randomUUID() }, { ...good, instance_id: randomUUID() }];
  for (const body of unknown) {
    assertRefused(await tryGrant(server, testProject.reviewer, body), 404, "not_found");
  }
  assert.deepEqual(await listGrants(server, testProject.reviewer), []);
});

test("[ours.grant.retention] a grant is purged 168 hours after it would have expired, not earlier", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject, { lasts: "1h" });
  await revokeGrant(server, testProject.reviewer, made.id);
  const young = await grant(testProject, { lasts: "24h" });
  const end = Date.parse(made.expires_at) + 168 * 3_600_000;
  clock.advance(end - 1 - clock.now());
  const show = (id: string) => showGrant(server, testProject.reviewer, id);
  assert.equal((await show(made.id)).status, 200);
  // Less than the 23 hours after which the other one is purged as well.
  await advanceUntil(clock, 5 * 60_000, 100, async () => (await show(made.id)).status === 404);
  assert.equal((await show(young.id)).status, 200);
});
