import assert from "node:assert/strict";
import { test } from "node:test";
import { type Agent, makeToken, newAgent } from "@countersign/testing/agents";
import type { Child, Owner } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";
import { setRequirement } from "./support/requirements.ts";

interface Scene {
  readonly server: Server;
  readonly agent: Agent;
  readonly reviewer: string;
  readonly watch: Child;
}

/** A server, and a user who watches it. */
async function watching(owner: Owner): Promise<Scene> {
  const server = await startServer(owner);
  const agent = await newAgent(server);
  const reviewer = await makeToken(server.data, { kind: "reviewer" });
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  const watch = spawnCountersign(owner, ["requests", "watch"], { env });
  return { server, agent, reviewer, watch };
}

test("[ours.cli.requests.watch] in a pipe, watch prints one line when a request is opened and one when it is resolved", async (t) => {
  const { server, agent, reviewer, watch } = await watching(t);
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  const approved = await agent.submit({ tool: "first" });
  await watch.prints(
    "stdout",
    new RegExp(`^pending   ${approved.id}  first  \\{"env":"prod"\\}$`, "m"),
  );
  const cancelled = await agent.submit({ tool: "second" });
  await watch.prints("stdout", new RegExp(`^pending   ${cancelled.id}  second  `, "m"));

  await countersign(t, ["requests", "approve", approved.id, "--yes"], { env });
  await watch.prints("stdout", new RegExp(`^approved  ${approved.id}  first  `, "m"));
  await agent.cancel(cancelled.id);
  await watch.prints("stdout", new RegExp(`^cancelled ${cancelled.id}  second  `, "m"));

  const { code, stdout, stderr } = await watch.end("SIGINT");
  assert.equal(stdout.trimEnd().split("\n").length, 4, stdout);
  assert.deepEqual([code, stderr], [0, ""]);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test(`[ours.cli.requests.watch] ${signal} ends it with exit code 0 and without a word`, async (t) => {
    const { agent, watch } = await watching(t);
    const { id } = await agent.submit();
    await watch.prints("stdout", new RegExp(id));
    const { code, stderr } = await watch.end(signal);
    assert.deepEqual([code, stderr], [0, ""]);
  });
}

test("[ours.cli.requests.watch] watch reports an unreachable server once, and continues when the server is back", async (t) => {
  const { server, agent, watch } = await watching(t);
  const before = await agent.submit({ tool: "before" });
  await watch.prints("stdout", new RegExp(before.id));

  await server.kill();
  await watch.prints("stderr", /^Disconnected: cannot reach .*\. Retrying every second\.$/m);
  const again = await startServer(t, { data: server.data, args: ["--port", server.port] });
  await watch.prints("stderr", /^Reconnected\.$/m);

  const after = await agent.submit({ tool: "after" });
  await watch.prints("stdout", new RegExp(after.id));
  assert.equal(again.url, server.url);
  const { code, stdout, stderr } = await watch.end("SIGINT");
  assert.equal(code, 0);
  assert.deepEqual(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.slice(10, 46)),
    [before.id, after.id],
  );
  assert.match(stderr, /^Disconnected: .*\nReconnected\.\n$/);
});

test("[ours.cli.requests.watch] watch exits with 1 when its token is revoked", async (t) => {
  const { server, agent, watch } = await watching(t);
  const { id } = await agent.submit();
  await watch.prints("stdout", new RegExp(id));
  const data = ["--data", server.data];
  const { stdout } = await countersign(t, ["tokens", "list", "--json", ...data]);
  const tokens = JSON.parse(stdout) as { id: string; kind: string }[];
  const token = tokens.find(({ kind }) => kind === "reviewer")?.id ?? "";
  await countersign(t, ["tokens", "revoke", token, ...data]);
  const { code, stderr } = await watch.ends();
  assert.equal(code, 1);
  assert.match(stderr, /^countersign: The credential .*\n$/);
});

test("[ours.cli.untrusted-text] a watched line is one line of escaped text", async (t) => {
  const { agent, watch } = await watching(t);
  const hostile = "\u001b[2J\u202e\u2028";
  const { id } = await agent.submit({ tool: `x${hostile}`, arguments: { a: hostile } });
  const [line] = await watch.prints("stdout", new RegExp(`^pending   ${id}.*\n`, "m"));
  assert.match(line, /x\\u\{001B\}\[2J\\u\{202E\}\\u\{2028\}/);
  assert.doesNotMatch(line.trimEnd(), /[\p{Cc}\p{Cf}\p{Zl}]/u);
});

test("[ours.verdict.wakes] in a pipe, watch prints one line for a vote and for its withdrawal", async (t) => {
  const { server, agent, reviewer, watch } = await watching(t);
  const { id } = await agent.submit({ tool: "shared" });
  await watch.prints("stdout", new RegExp(`^pending   ${id}  shared`, "m"));
  await setRequirement(server, id, { quorum: 2 });
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: reviewer };
  await countersign(t, ["requests", "approve", id, "--yes"], { env });
  await watch.prints("stdout", new RegExp(`^voted     ${id}  shared`, "m"));
  await countersign(t, ["requests", "withdraw", id], { env });
  await watch.prints("stdout", new RegExp(`(^voted     ${id}  shared[^]*){2}`, "m"));
});
