import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { GrantPreview } from "@countersign/review-api";
import { assertRefused } from "./support/envelope.ts";
import { listGrants } from "./support/grants.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { startScene } from "./support/scene.ts";
import { newTestProject, type TestProject } from "./support/test-projects.ts";

const { server, clock } = await startScene({ after });

const PATH = "/review/v1/grant-preview";

const edit = (path: string, session = "s1"): object => ({
  tool: "edit",
  arguments: { path },
  context: { session_id: session },
});

async function decided(
  { instance, reviewer }: TestProject,
  body: object,
  verdict: "approve" | "deny",
): Promise<string> {
  const { id } = await server.submit(instance.token, body);
  clock.advance(1);
  await server.decide(reviewer, id, verdict, { note: "Decided." });
  return id;
}

async function preview({ reviewer }: TestProject, body: object): Promise<GrantPreview> {
  const answer = await server.call<GrantPreview>("POST", PATH, { token: reviewer, body });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

test("[ours.grant.preview] a preview counts the past questions that the terms match, and names the denied ones first", async () => {
  const project = await newTestProject(server);
  const { instance } = project;
  const denied = await decided(project, edit("src/a"), "deny");
  const approved = await decided(project, edit("src/b"), "approve");
  await decided(project, edit("etc/passwd"), "approve");
  await decided(project, edit("src/c", "s2"), "approve");
  await decided(project, { tool: "shell", arguments: { path: "src/a" } }, "approve");
  const { id: pending } = await server.submit(instance.token, edit("src/d"));
  const body = { from_request: pending, when: 'args.path.startsWith("src/")' };
  const { examples, ...counts } = await preview(project, body);
  assert.deepEqual(counts, { approved: 2, denied: 1, complete: true });
  assert.deepEqual(
    examples.map(({ id, tool, status }) => [id, tool, status]),
    [
      [denied, "edit", "denied"],
      [approved, "edit", "approved"],
    ],
  );
  assert.equal((await preview(project, { ...body, any_session: true })).approved, 3);
  assert.deepEqual(await listGrants(server, project.reviewer), []);
});

test("[ours.grant.preview] calls of other instances, older calls, and calls that policy decided or lets no grant approve do not count", async () => {
  const project = await newTestProject(server);
  await server.submit(project.instance.token, edit("src/old"));
  clock.advance(8 * 24 * 3_600_000);
  await server.submit(project.other.token, edit("src/other"));
  const terms = { instance_id: project.instance.id, tool: "edit", any_session: true };
  assert.equal((await preview(project, terms)).approved, 0);
  const rules = [
    "{ id: a, match: { tool: edit }, when: args.path == 'free', then: approve }",
    "{ id: b, match: { tool: ed* }, when: args.path == 'never', then: ask, ask: {grants: false} }",
    "{ id: c, match: { tool: edit }, when: args.path == 'asked', then: ask }",
    "{ id: d, match: {tool: edit}, when: args.path == 'noted', then: ask, ask: {note: required} }",
  ];
  await enforce(server, policyOf(...rules), project.project);
  for (const path of ["free", "never", "asked", "noted"]) {
    await server.submit(project.instance.token, edit(path));
  }
  const { approved, examples } = await preview(project, terms);
  assert.equal(approved, 1);
  assert.equal(examples.length, 1);
});

test("[ours.grant.preview] terms that no grant can have are rejected, as when one is created", async () => {
  const project = await newTestProject(server);
  const { reviewer, instance } = project;
  for (const [body, param] of [
    [{ tool: "edit" }, "instance_id"],
    [{ instance_id: instance.id }, "tool"],
    [{ instance_id: instance.id, tool: "edit", when: "args." }, "when"],
    [{ instance_id: instance.id, tool: "edit", turn: "t", any_session: true }, "any_session"],
  ] as const) {
    const answer = await server.call("POST", PATH, { token: reviewer, body });
    assertRefused(answer, 400, "invalid_request", param);
  }
});
