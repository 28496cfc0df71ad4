/** Grants for one turn of an agent: the rest of a response. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { startExtended } from "./support/extensions.ts";
import {
  decidedBy,
  listGrants,
  makeGrant,
  type ReviewedGrant,
  revokeGrant,
  showGrant,
  tryGrant,
} from "./support/grants.ts";
import { enforce, FLOOR, policyOf } from "./support/policies.ts";
import { auditOf } from "./support/scene.ts";
import { newTestProject, type TestProject } from "./support/test-projects.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const scene = await startExtended({ after }, "server");
const { server, clock } = scene;

const CLAUDE_CODE = { runtime: "claude-code", session_id: "s1", prompt_id: "p1" };
const CODEX = { runtime: "codex", session_id: "s1", turn_id: "t1" };

const edit = (context: object, fields: object = {}): object => ({
  tool: "edit",
  arguments: { path: "src/a" },
  context,
  ...fields,
});

async function statusOf({ instance }: TestProject, fields: object): Promise<string> {
  return (await server.submit(instance.token, fields)).status;
}

/** A pending call and a grant for the rest of its turn. */
async function grantRest(
  testProject: TestProject,
  call: object,
  body: object = {},
): Promise<ReviewedGrant> {
  const { id } = await server.submit(testProject.instance.token, call);
  return makeGrant(server, testProject.reviewer, { from_request: id, same_turn: true, ...body });
}

test("[ours.grant.turn] a grant for the rest of a turn approves calls of this tool, instance, session and turn", async () => {
  for (const [context, member] of [
    [CLAUDE_CODE, "prompt_id"],
    [CODEX, "turn_id"],
  ] as const) {
    const testProject = await newTestProject(server);
    const made = await grantRest(testProject, edit(context));
    const turn = Object.entries(context).find(([name]) => name === member)?.[1];
    assert.deepEqual([made.tool, made.session, made.turn], ["edit", "s1", turn]);
    const other = edit(context, { arguments: { path: "src/b" } });
    const { id, status } = await server.submit(testProject.instance.token, other);
    assert.equal(status, "approved");
    assert.equal(await decidedBy(server, testProject.reviewer, id), `grant:${made.id}`);
    for (const call of [
      edit({ ...context, [member]: "later" }),
      edit({ ...context, session_id: "s2" }),
      edit({ session_id: "s1" }),
      edit({ [member]: turn }),
      edit({ ...context, [member]: [turn] }),
      edit(context, { tool: "remove" }),
      edit(context, { server: "files" }),
      edit(context, { context: undefined }),
    ]) {
      assert.equal(await statusOf(testProject, call), "pending", JSON.stringify(call));
    }
    const neighbour = await server.instance(testProject.project);
    assert.equal((await server.submit(neighbour.token, edit(context))).status, "pending");
    const { json } = await showGrant(server, testProject.reviewer, made.id);
    assert.deepEqual([json.calls, json.turn, json.state], [1, turn, "active"]);
  }
});

test("[ours.grant.turn] a grant for a session and a turn by their ids approves only calls of both", async () => {
  const testProject = await newTestProject(server);
  const { instance, reviewer } = testProject;
  const body = { instance_id: instance.id, tool: "edit", session: "s1", turn: "t1" };
  const made = await makeGrant(server, reviewer, body);
  assert.deepEqual([made.session, made.turn], ["s1", "t1"]);
  assert.equal(await statusOf(testProject, edit(CODEX)), "approved");
  assert.equal(await statusOf(testProject, edit({ ...CODEX, turn_id: "t2" })), "pending");
  const { id } = await server.submit(instance.token, edit({ session_id: "s3", turn_id: "x" }));
  const filled = await makeGrant(server, reviewer, { from_request: id, turn: "t9" });
  assert.deepEqual([filled.session, filled.turn], ["s3", "t9"]);
});

test("[ours.grant.turn] a grant from a request without same_turn applies to all turns of the session", async () => {
  const testProject = await newTestProject(server);
  const made = await grantRest(testProject, edit(CODEX), { same_turn: false });
  assert.deepEqual([made.session, made.turn], ["s1", undefined]);
  assert.equal(await statusOf(testProject, edit({ ...CODEX, turn_id: "t2" })), "approved");
});

test("[ours.grant.turn] without a session or a turn in the request, the server rejects the grant and states the fix", async () => {
  const testProject = await newTestProject(server);
  const { instance, reviewer } = testProject;
  const cases: readonly (readonly [object | undefined, RegExp])[] = [
    [undefined, /context\.session_id.+Create a grant without same_turn/],
    [{ turn_id: "t" }, /context\.session_id.+Create a grant without same_turn/],
    [{ session_id: "", turn_id: "t" }, /context\.session_id/],
    [{ session_id: 1, turn_id: "t" }, /context\.session_id/],
    [{ session_id: "s" }, /context\.turn_id or context\.prompt_id.+omit same_turn/],
    [{ session_id: "s", prompt_id: 1 }, /context\.turn_id or context\.prompt_id/],
  ];
  for (const [context, message] of cases) {
    const { id } = await server.submit(instance.token, { tool: "edit", context });
    const answer = await tryGrant(server, reviewer, { from_request: id, same_turn: true });
    assertRefused(answer, 400, "invalid_request", "same_turn");
    assert.match(answer.json.error.message, message);
  }
  const bare = { instance_id: instance.id, tool: "edit", turn: "t" };
  const answer = await tryGrant(server, reviewer, bare);
  assertRefused(answer, 400, "invalid_request", "turn");
  assert.match(answer.json.error.message, /requires a session\. Add session/);
  assert.deepEqual(await listGrants(server, reviewer), []);
});

test("[ours.grant.turn] [ours.grant.any-server] a grant for any tool of the turn approves no call of a rule that forbids grants", async () => {
  const testProject = await newTestProject(server);
  const source = policyOf(
    "{ id: secrets, match: { tool: read_secret }, then: ask, ask: { grants: false } }",
    "{ id: never, match: { tool: remove }, then: deny }",
  );
  await enforce(server, source, testProject.project);
  const body = { tool: "*", any_server: true };
  const made = await grantRest(testProject, edit(CODEX, { server: "files" }), body);
  assert.deepEqual([made.tool, made.server, made.any_server], ["*", undefined, true]);
  for (const [fields, status] of [
    [{}, "approved"],
    [{ tool: "create_issue", server: "github" }, "approved"],
    [{ tool: "mcp__github__create_issue" }, "approved"],
    [{ tool: "read_secret" }, "pending"],
    [{ tool: "read_secret", server: "files" }, "pending"],
    [{ tool: "remove" }, "denied"],
  ] as const) {
    assert.equal(await statusOf(testProject, edit(CODEX, fields)), status, JSON.stringify(fields));
  }
});

test("[ours.grant.turn] a baseline policy that forbids grants prevails over a grant for a turn", async () => {
  const testProject = await newTestProject(server);
  const made = await grantRest(testProject, edit(CODEX));
  assert.equal(await statusOf(testProject, edit(CODEX)), "approved");
  const strict = policyOf("{ id: a, match: { tool: edit }, then: ask, ask: { grants: false } }");
  await enforce(server, strict, FLOOR);
  assert.equal(await statusOf(testProject, edit(CODEX)), "pending");
  await enforce(server, policyOf("{ id: a, match: { tool: none }, then: ask }"), FLOOR);
  assert.equal(await statusOf(testProject, edit(CODEX)), "approved");
  assert.equal((await showGrant(server, testProject.reviewer, made.id)).json.calls, 2);
});

test("[ours.grant.turn] count, expiry, revocation and audit entries apply to a grant for a turn", async () => {
  const testProject = await newTestProject(server);
  const { reviewer } = testProject;
  const counted = await grantRest(testProject, edit(CODEX), { calls: 1, lasts: "1h" });
  assert.equal(await statusOf(testProject, edit(CODEX)), "approved");
  assert.equal(await statusOf(testProject, edit(CODEX)), "pending");
  clock.advance(1);
  const expiring = await grantRest(testProject, edit(CODEX), { lasts: "1h" });
  clock.set(Date.parse(expiring.expires_at) - 1);
  assert.equal(await statusOf(testProject, edit(CODEX)), "approved");
  clock.set(Date.parse(expiring.expires_at));
  assert.equal(await statusOf(testProject, edit(CODEX)), "pending");
  const { id } = await grantRest(testProject, edit(CODEX));
  assert.deepEqual(
    (await listGrants(server, reviewer)).map(({ turn }) => turn),
    ["t1"],
  );
  await revokeGrant(server, reviewer, id);
  assert.equal(await statusOf(testProject, edit(CODEX)), "pending");
  const ended = await listGrants(server, reviewer, "ended");
  assert.deepEqual(
    ended.map(({ id, state, turn }) => [id, state, turn]),
    [
      [id, "revoked", "t1"],
      [expiring.id, "expired", "t1"],
      [counted.id, "exhausted", "t1"],
    ],
  );
  const audit = await auditOf(scene, `grant:${id}`);
  assert.deepEqual(
    audit.map(({ kind }) => kind),
    ["grant.made", "grant.revoked"],
  );
});

test("[ours.hold.grant] taking back an approval revokes the grants that its reviewer then created for the turn", async () => {
  const testProject = await newTestProject(server);
  const { instance, reviewer } = testProject;
  const before = await grantRest(testProject, edit(CODEX));
  clock.advance(1_000);
  const { id } = await server.submit(instance.token, edit(CODEX, { tool: "remove" }));
  const held = `/review/v1/requests/${id}`;
  const { json } = await server.call<ReviewedRequest>("GET", held, { token: reviewer });
  const body = { verdict: "approve", arguments_sha256: json.arguments_sha256, hold: "5s" };
  await server.call("POST", `${held}/verdict`, { token: reviewer, body });
  const rest = { from_request: id, same_turn: true };
  const own = await makeGrant(server, reviewer, rest);
  const ofSession = await makeGrant(server, reviewer, { from_request: id });
  const ben = await server.token({
    kind: "reviewer",
    name: "ben",
    project: testProject.project,
  });
  const ofBen = await makeGrant(server, ben, rest);
  await server.call("DELETE", `${held}/held`, { token: reviewer });
  const stateOf = async (grant: ReviewedGrant) =>
    (await showGrant(server, reviewer, grant.id)).json.state;
  assert.equal(await stateOf(own), "revoked");
  for (const grant of [before, ofSession, ofBen]) assert.equal(await stateOf(grant), "active");
  const kinds = (await auditOf(scene, `grant:${own.id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["grant.made", "grant.revoked"]);
});
