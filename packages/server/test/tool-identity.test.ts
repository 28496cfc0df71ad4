/**
 * A tool of an MCP server is identified by its name and its server: in rules and grants, in history
 * and in the background of a request. With the extension `server`.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { startExtended } from "./support/extensions.ts";
import { makeGrant } from "./support/grants.ts";
import { publish } from "./support/publishing.ts";
import { type Scene, submitBody } from "./support/scene.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";

interface SubmittedName {
  readonly tool: string;
  readonly server?: string;
}

const GITHUB: SubmittedName = { tool: "create_issue", server: "github" };
const GITLAB: SubmittedName = { tool: "create_issue", server: "gitlab" };
const JOINED: SubmittedName = { tool: "mcp__github__create_issue" };
const LOCAL: SubmittedName = { tool: "create_issue" };

async function submit({ server, instance, clock }: Scene, name: SubmittedName) {
  const { json } = await submitBody(server, instance.token, { ...SUBMISSION, ...name });
  // Calls of the same millisecond have no order.
  clock.advance(1);
  return json;
}

async function enforce(server: TestProvider, rules: string): Promise<void> {
  const editor = await server.token({ kind: "reviewer", name: "Ed", role: "editor" });
  const answer = await publish(server, editor, `version: 1\nrules:\n${rules}`, 0);
  assert.equal(answer.status, 201, answer.text);
}

test("[ours.extensions.server.identity] history counts the calls of one server's tool, under both of its names", async (t) => {
  const scene = await startExtended(t, "server");
  await enforce(
    scene.server,
    `  - id: budget
    match: { tool: [create_issue, "x/*"], server: [github, gitlab] }
    when: history.approved("1h") < 2
    then: approve
  - id: local
    match: { tool: create_issue }
    when: history.calls("1h") == 0
    then: approve
`,
  );
  const said = [];
  for (const name of [GITHUB, JOINED, GITHUB, JOINED, GITLAB, GITLAB, GITLAB, LOCAL, LOCAL]) {
    said.push((await submit(scene, name)).status);
  }
  const [a, p] = ["approved", "pending"];
  assert.deepEqual(said, [a, a, p, p, a, a, p, a, p]);
});

test("[ours.extensions.server.identity] similar calls and the last approved call are of the same server", async (t) => {
  const scene = await startExtended(t, "server");
  const { server, reviewer } = scene;
  const approved = new Map<SubmittedName, string>();
  const long = { ...GITHUB, server: `${"💳".repeat(199)}x` };
  const names = [GITHUB, GITLAB, LOCAL, long, { ...long, server: `${"💳".repeat(199)}y` }];
  for (const name of names) {
    const { id } = await submit(scene, name);
    await server.decide(reviewer, id, "approve");
    approved.set(name, id);
    scene.clock.advance(1);
  }
  for (const name of names) {
    const { id } = await submit(scene, name);
    const path = `/review/v1/requests/${id}/background`;
    interface Background {
      readonly last_approved: { readonly id: string };
      readonly similar: { readonly approved: number };
    }
    const { json } = await server.call<Background>("GET", path, { token: reviewer });
    assert.equal(json.last_approved.id, approved.get(name));
    assert.equal(json.similar.approved, 1);
  }
});

test("[ours.extensions.server.names] rules and grants for a joined name decide calls with the server, and the other way round", async (t) => {
  const scene = await startExtended(t, "server");
  const { server, reviewer, instance } = scene;
  await enforce(
    server,
    `  - { id: issues, match: { tool: "mcp__github__create_*" }, then: approve }
  - { id: reads, match: { tool: "read_*", server: github }, then: approve }
  - { id: no-drop, match: { tool: "db/drop" }, then: deny }
`,
  );
  const status = async (name: SubmittedName) => (await submit(scene, name)).status;
  assert.deepEqual([await status(GITHUB), await status(JOINED)], ["approved", "approved"]);
  assert.deepEqual([await status(GITLAB), await status(LOCAL)], ["pending", "pending"]);
  assert.equal(await status({ tool: "mcp__github__read_file" }), "approved");
  assert.equal(await status({ tool: "drop", server: "db" }), "denied");
  assert.equal(await status({ tool: "mcp__db__drop" }), "denied");
  const { id } = await submit(scene, { tool: "mcp__github__merge" });
  await makeGrant(server, reviewer, { from_request: id, calls: 2 });
  assert.equal(await status({ tool: "merge", server: "github" }), "approved");
  assert.equal(await status({ tool: "merge", server: "gitlab" }), "pending");
  const split = await submit(scene, { tool: "push", server: "github" });
  await makeGrant(server, reviewer, { from_request: split.id, instance_id: instance.id, calls: 1 });
  assert.equal(await status({ tool: "mcp__github__push" }), "approved");
});
