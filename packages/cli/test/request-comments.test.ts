/** Reviewers work together on a request: comments, and a claim that is handed over. */

import assert from "node:assert/strict";
import { before, type TestContext, test } from "node:test";
import { type Agent, makeToken, newAgent } from "@countersign/testing/agents";
import { fileOwner } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";

const file = fileOwner();
let server: Server;
let agent: Agent;
let ana: string;
let ben: string;

before(async () => {
  server = await startServer(file);
  agent = await newAgent(server);
  ana = await makeToken(server.data, { kind: "reviewer", name: "ana" });
  ben = await makeToken(server.data, { kind: "reviewer", name: "ben" });
});

async function requests(t: TestContext, token: string, ...args: readonly string[]) {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  return countersign(t, ["requests", ...args], { env });
}

test("[ours.comment.visible] a comment is listed with its author, and hostile characters are visible", async (t) => {
  const { id } = await agent.submit();
  assert.equal((await requests(t, ben, "comments", id)).stdout, "There are no comments.\n");
  const added = await requests(t, ana, "comment", id, "--text", "Wait.\nThe \u202eend\u001b[2J");
  assert.deepEqual([added.code, added.stdout], [0, "Added.\n"]);
  const { code, stdout } = await requests(t, ben, "comments", id);
  assert.equal(code, 0);
  assert.match(stdout, /^ana, \S+\n {2}Wait\.\n {2}The \\u\{202E\}end\\u\{001B\}\[2J\n$/);
  const blank = await requests(t, ana, "comment", id, "--text", " ");
  assert.equal(blank.code, 1);
  assert.equal((await requests(t, ana, "comment", id)).code, 2);
});

test("[ours.comment.rules] a repeated command with the same idempotency key adds one comment", async (t) => {
  const { id } = await agent.submit();
  const add = (text: string) =>
    requests(t, ana, "comment", id, "--text", text, "--idempotency-key", "job 7");
  for (const _ of [1, 2]) assert.equal((await add("Wait.")).stdout, "Added.\n");
  const other = await add("Go.");
  assert.equal(other.code, 1);
  assert.match(other.stderr, /Idempotency-Key/);
  const { stdout } = await requests(t, ben, "comments", id);
  assert.equal(stdout.split("Wait.").length, 2);
});

test("[ours.claim.handed] a claim is handed over by name, and only by its owner", async (t) => {
  const { id } = await agent.submit();
  const early = await requests(t, ana, "hand-over", id, "--to", "ben");
  assert.deepEqual([early.code, early.stdout], [1, "You have not claimed this request.\n"]);
  assert.equal((await requests(t, ana, "claim", id)).code, 0);
  const unknown = await requests(t, ana, "hand-over", id, "--to", "zoe");
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /there is no reviewer zoe/);
  const done = await requests(t, ana, "hand-over", id, "--to", "ben");
  assert.deepEqual([done.code, done.stdout], [0, "Handed over.\n"]);
  const released = async (token: string) => (await requests(t, token, "release", id)).stdout;
  assert.equal(await released(ana), "You have not claimed this request.\n");
  assert.equal(await released(ben), "Released.\n");
});
