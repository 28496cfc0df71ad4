import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listTokens, revokeToken } from "../src/index.ts";
import { setReviewer } from "../src/operations/people/setReviewer.ts";
import { freeze, lift } from "./support/freezes.ts";
import { decidedBy, grantEdits, type ReviewedGrant, showGrant } from "./support/grants.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { auditOf, startScene, submitBody } from "./support/scene.ts";
import { newTestProject, type TestProject } from "./support/test-projects.ts";
import { SUBMISSION } from "./support/test-provider.ts";

const scene = await startScene({ after }, { settings: { validity_default: "2m" } });
const { server, clock } = scene;

const edit = (path: string, session?: string): object => ({
  tool: "edit",
  arguments: { path },
  ...(session !== undefined && { context: { session_id: session } }),
});

const grant = (testProject: TestProject, body?: object) => grantEdits(server, testProject, body);

async function statusOf(
  { instance }: TestProject,
  fields: object = edit("src/a"),
): Promise<string> {
  return (await server.submit(instance.token, fields)).status;
}

async function assertUsed(
  testProject: TestProject,
  { id }: ReviewedGrant,
  calls: number,
): Promise<void> {
  assert.equal((await showGrant(server, testProject.reviewer, id)).json.calls, calls);
}

test("[ours.grant.answers] a call within the terms is approved at once by a decision of its own that names the grant", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject, {
    when: 'args.path.startsWith("src/") && instance.name != ""',
    session: "s1",
    note: "go on",
    valid_for: "90s",
  });
  const ids = new Set<string>();
  for (let n = 1; n <= 3; n++) {
    const { id, status, decision } = await server.submit(
      testProject.instance.token,
      edit(`src/${n}`, "s1"),
    );
    assert.equal(status, "approved");
    const decided_at = new Date(clock.now()).toISOString();
    const expires_at = new Date(clock.now() + 90_000).toISOString();
    assert.deepEqual(decision, { status: "approved", note: "go on", decided_at, expires_at });
    assert.equal(await decidedBy(server, testProject.reviewer, id), `grant:${made.id}`);
    const [resolved] = await auditOf(scene, `request:${id}`);
    assert.equal(resolved?.actor, `grant:${made.id}`);
    await assertUsed(testProject, made, n);
    ids.add(id);
  }
  assert.equal(ids.size, 3);
});

test("[ours.grant.answers] a call outside the terms is asked about, and counts nothing", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject, { when: 'within(args.path, "src")', session: "s1" });
  const calls = [
    edit("src/../etc/passwd", "s1"),
    edit("etc/passwd", "s1"),
    edit("src/a"),
    edit("src/a", "s2"),
    { ...edit("src/a", "s1"), tool: "Edit" },
    { ...edit("src/a", "s1"), tool: "editor" },
    { ...edit("src/a", "s1"), arguments: {} },
    { ...edit("src/a", "s1"), arguments: { path: 1 } },
    { ...edit("src/a", "s1"), context: { session_id: ["s1"] } },
  ];
  for (const call of calls) assert.equal(await statusOf(testProject, call), "pending");
  const neighbour = await server.instance(testProject.project);
  const other = await server.submit(neighbour.token, edit("src/a", "s1"));
  assert.equal(other.status, "pending", "another instance");
  await assertUsed(testProject, made, 0);
  assert.equal(await statusOf(testProject, edit("src/a", "s1")), "approved");
});

test("[ours.grant.answers] the tool is a glob", async () => {
  const testProject = await newTestProject(server);
  await grant(testProject, { tool: "fs.*.read" });
  assert.equal(await statusOf(testProject, { tool: "fs.home.read" }), "approved");
  assert.equal(await statusOf(testProject, { tool: "fs.home.write" }), "pending");
});

test("[ours.grant.bounds] without bounds a grant answers 10 calls within 30 minutes", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject);
  assert.deepEqual([made.calls, made.calls_max, made.state], [0, 10, "active"]);
  assert.equal(Date.parse(made.expires_at) - Date.parse(made.created_at), 30 * 60_000);
  for (let n = 0; n < 10; n++) assert.equal(await statusOf(testProject), "approved");
  assert.equal(await statusOf(testProject), "pending");
  assert.equal((await showGrant(server, testProject.reviewer, made.id)).json.state, "exhausted");
});

test("[ours.grant.bounds] at its end a grant answers nothing any more", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject, { lasts: "24h", calls: 1_000 });
  clock.set(Date.parse(made.expires_at) - 1);
  assert.equal(await statusOf(testProject), "approved");
  clock.set(Date.parse(made.expires_at));
  assert.equal(await statusOf(testProject), "pending");
  assert.equal((await showGrant(server, testProject.reviewer, made.id)).json.state, "expired");
});

test("[ours.grant.bounds] of many calls at one time no more are approved than the grant has left", async () => {
  for (let round = 0; round < 5; round++) {
    const testProject = await newTestProject(server);
    const grants = [await grant(testProject, { calls: 5 }), await grant(testProject, { calls: 3 })];
    const statuses = await Promise.all(Array.from({ length: 25 }, () => statusOf(testProject)));
    assert.equal(statuses.filter((status) => status === "approved").length, 8);
    for (const made of grants) await assertUsed(testProject, made, made.calls_max);
  }
});

test("[ours.grant.replay] a replay answers the same decision and counts nothing, also at one time", async () => {
  for (let round = 0; round < 5; round++) {
    const testProject = await newTestProject(server);
    const made = await grant(testProject);
    const key = server.freshKey();
    const body = { ...SUBMISSION, ...edit("src/a") };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => submitBody(server, testProject.instance.token, body, key)),
    );
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal(answers[0]?.json.status, "approved");
    await assertUsed(testProject, made, 1);
  }
});

test("[ours.grant.authority] a grant answers only while its maker has a live token and the role", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject);
  const { context } = server.provider;
  const change = (role: "viewer" | "reviewer") =>
    setReviewer(context, { project: testProject.project, name: "ana", role, groups: undefined });
  await change("viewer");
  assert.equal(await statusOf(testProject), "pending");
  await change("reviewer");
  assert.equal(await statusOf(testProject), "approved");
  const tokens = (await listTokens(context)).filter(
    ({ project, name }) => project === testProject.project && name === "ana",
  );
  assert.equal(tokens.length, 1);
  const expiresAt = clock.now() + 60_000;
  const { project } = testProject;
  await server.token({ kind: "reviewer", project, name: "ana", expiresAt });
  for (const { id } of tokens) await revokeToken(context, id);
  assert.equal(await statusOf(testProject), "approved", "by the second token");
  clock.advance(60_000);
  assert.equal(await statusOf(testProject), "pending");
  const reviewer = await server.token({ kind: "reviewer", project, name: "ana" });
  assert.equal(await statusOf(testProject), "approved");
  await assertUsed({ ...testProject, reviewer }, made, 3);
});

test("[ours.grant.policy] a grant approves only calls that its creator could approve alone with a click", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject, { calls: 1_000 });
  const rule = (ask: string, then = "ask") =>
    policyOf(`{ id: a, match: { tool: edit }, then: ${then}${ask} }`);
  const cases: readonly (readonly [string, string])[] = [
    [rule(""), "approved"],
    [rule(", ask: { from: [reviewer:ana] }"), "approved"],
    [rule(", ask: { from: [reviewer:bob, group:dba] }"), "pending"],
    [rule(", ask: { quorum: 2 }"), "pending"],
    [rule(", ask: { confirm: match }"), "pending"],
    [rule(", ask: { confirm: type(args.path) }"), "pending"],
    [rule(", ask: { confirm: passkey }"), "pending"],
    [rule(", ask: { note: required }"), "pending"],
    [rule(", ask: { exclude: [owner] }"), "pending"],
    [rule(", ask: { grants: false }"), "pending"],
    [rule("", "deny"), "denied"],
    [policyOf("{ id: a, match: { tool: edit }, when: args.gone > 1, then: deny }"), "pending"],
    [policyOf("{ id: a, match: { tool: edit }, when: args.gone > 1, then: approve }"), "pending"],
    [policyOf("{ id: a, match: { tool: other }, then: deny }"), "approved"],
  ];
  for (const [policy, status] of cases) {
    await enforce(server, policy, testProject.project);
    const before = (await showGrant(server, testProject.reviewer, made.id)).json.calls;
    assert.equal(await statusOf(testProject), status, policy);
    await assertUsed(testProject, made, before + (status === "approved" ? 1 : 0));
  }
});

test("[ours.grant.policy] groups and notes of the grant meet the rule, its validity is the longest", async () => {
  const testProject = await newTestProject(server);
  const ask = "ask: { from: [group:dba], note: required }";
  const source = policyOf(`{ id: a, match: { tool: edit }, then: ask, valid_for: 30s, ${ask} }`);
  await enforce(server, source, testProject.project);
  await grant(testProject, { note: "as agreed", valid_for: "10m" });
  assert.equal(await statusOf(testProject), "pending");
  await setReviewer(server.provider.context, {
    project: testProject.project,
    name: "ana",
    role: undefined,
    groups: ["dba"],
  });
  const { decision } = await server.submit(testProject.instance.token, edit("src/a"));
  const { expires_at = "", decided_at = "" } = decision as { expires_at?: string } & {
    decided_at?: string;
  };
  assert.equal(Date.parse(expires_at) - Date.parse(decided_at), 30_000);
});

test("[ours.grant.policy] an approval by policy uses no grant", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject);
  const source = policyOf("{ id: a, match: { tool: edit }, then: approve }");
  await enforce(server, source, testProject.project);
  const { id, status } = await server.submit(testProject.instance.token, edit("src/a"));
  assert.equal(status, "approved");
  assert.equal(await decidedBy(server, testProject.reviewer, id), "policy:a");
  await assertUsed(testProject, made, 0);
});

test("[ours.grant.freeze] a freeze beats every grant", async () => {
  const testProject = await newTestProject(server);
  const made = await grant(testProject);
  const { json } = await freeze(server, testProject.reviewer, { scope: "project" });
  assert.equal(await statusOf(testProject), "denied");
  await assertUsed(testProject, made, 0);
  await lift(server, testProject.reviewer, json.id);
  assert.equal(await statusOf(testProject), "approved");
});
