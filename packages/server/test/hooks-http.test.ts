/** Hooks over HTTP: the input of an agent, and its answer after the decision. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";

const file = fileOwner();
let scene: AgentScene;

before(async () => {
  scene = await startAgentScene(file, { settings: { extensions: "server" } });
});

/** The input of Claude Code for one call. */
function callOf(fields: object = {}): string {
  return JSON.stringify({
    session_id: randomUUID(),
    hook_event_name: "PreToolUse",
    tool_name: "mcp__github__create_issue",
    tool_input: { title: "It broke", rank: 1.1 },
    tool_use_id: randomUUID(),
    cwd: "/srv/user",
    ...fields,
  });
}

interface PostOptions {
  readonly path?: string;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

function post(body: string, options: PostOptions = {}): Promise<Response> {
  const { path = "/hooks/claude-code", token = scene.token, signal } = options;
  return fetch(`${scene.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body,
    ...(signal === undefined ? {} : { signal }),
  });
}

async function decisionIn(response: Response) {
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/json");
  const { hookSpecificOutput } = (await response.json()) as {
    readonly hookSpecificOutput: Readonly<Record<string, string>>;
  };
  return hookSpecificOutput;
}

test("[ours.hooks.http] the agent receives the decision, and an approval allows one call", async () => {
  const call = callOf();
  const answered = post(call);
  const id = await scene.decideNext("approve");
  const allowed = await decisionIn(await answered);
  assert.equal(allowed.permissionDecision, "allow");
  const request = await scene.server.read(scene.token, id);
  const { tool, server, context } = request as typeof request & { readonly server?: string };
  assert.deepEqual([tool, server], ["create_issue", "github"]);
  assert.equal((context as { readonly runtime?: string }).runtime, "claude-code");
  const again = await decisionIn(await post(call));
  assert.equal(again.permissionDecision, "deny");

  const denied = post(callOf());
  await scene.decideNext("deny", { note: "Not today." });
  const { permissionDecision, permissionDecisionReason } = await decisionIn(await denied);
  assert.equal(permissionDecision, "deny");
  assert.equal(permissionDecisionReason, "Countersign: This call was denied: Not today.");
});

test("[ours.hooks.http] a call that expires is not allowed", async () => {
  const answer = await decisionIn(await post(callOf(), { path: "/hooks/claude-code?wait=1s" }));
  assert.equal(answer.permissionDecision, "deny");
  assert.match(answer.permissionDecisionReason ?? "", /This is not a denial/);
});

test("[ours.hooks.http] the request is cancelled when the agent disconnects", async () => {
  const stopped = new AbortController();
  const answered = post(callOf(), { signal: stopped.signal }).then((response) => response.text());
  const id = await scene.nextPending();
  stopped.abort();
  await assert.rejects(answered);
  await eventually("the cancellation", async () => {
    const { status } = await scene.server.read(scene.token, id);
    return status === "cancelled" || undefined;
  });
});

test("[ours.hooks.http] invalid calls are rejected, and create no request", async () => {
  const before = await scene.countRequests();
  const rejected: readonly (readonly [number, string, PostOptions])[] = [
    [401, callOf(), { token: "wrong" }],
    [403, callOf(), { token: scene.reviewer }],
    [404, callOf(), { path: "/hooks/codex" }],
    [404, callOf(), { path: "/hooks/other" }],
    [400, callOf(), { path: "/hooks/claude-code?wait=soon" }],
    [400, callOf(), { path: "/hooks/claude-code?wait=9" }],
    [400, "{", {}],
    [400, callOf({ tool_use_id: 5 }), {}],
    [400, callOf({ hook_event_name: "Stop" }), {}],
    [400, callOf({ cursor_version: "3.17.8" }), {}],
  ];
  for (const [status, body, options] of rejected) {
    assert.equal((await post(body, options)).status, status, JSON.stringify(options) + body);
  }
  assert.equal(await scene.countRequests(), before);
});

test("[ours.hooks.http] a server that stops denies waiting calls", async (t) => {
  const stopped = await startAgentScene(t);
  const answered = fetch(`${stopped.url}/hooks/claude-code`, {
    method: "POST",
    headers: { authorization: `Bearer ${stopped.token}`, "content-type": "application/json" },
    body: callOf(),
  });
  await stopped.nextPending();
  await stopped.server.provider.close();
  const { permissionDecision } = await decisionIn(await answered);
  assert.equal(permissionDecision, "deny");
});
