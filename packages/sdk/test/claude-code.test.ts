// Tier: nightly
// Needs: frameworks, coding-agents
// Process: own
/** The adapter for the Claude Agent SDK, with Claude Code itself. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  createSdkMcpServer,
  type HookCallback,
  type Options,
  tool,
} from "@anthropic-ai/claude-agent-sdk";
import { MemoryStore } from "@countersign/sdk";
import {
  type ClaudeQueryOptions,
  canUseTool,
  gateOptions,
  gateTools,
} from "@countersign/sdk/claude-agent-sdk";
import { requireCodingAgent } from "@countersign/testing/coding-agents";
import { type Agent, type AgentOptions, startAgent } from "./support/claude-code.ts";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, clientOf, neverPays, sharedScene } from "./support/framework-scene.ts";
import { framework, toolsOf } from "./support/frameworks/claude-agent-sdk.ts";

const program = requireCodingAgent("claude-code");

/** Claude Code needs no approval of its own for these calls. */
const PERMITTED = { allowedTools: ["Bash"] };

function bash(command: string, id = "call_1") {
  return { id, name: "Bash", input: { command, description: "Runs a command" } };
}

/** A command that leaves a file, so that a test sees that it ran. */
const MARK = bash("touch ran");

function hasRun({ folder }: Agent): boolean {
  return existsSync(join(folder, "ran"));
}

const start = (t: Parameters<typeof startAgent>[0], options: Omit<AgentOptions, "program">) => {
  return startAgent(t, { program, ...options });
};

frameworkRules({
  ...framework,
  async run(turn) {
    const ends: (() => Promise<void>)[] = [];
    const owner = { after: (end: () => Promise<void>) => void ends.push(end) };
    const calls = turn.calls.map(({ id, tool: name = "pay", arguments: input }) => {
      return { id, name: `mcp__bank__${name}`, input };
    });
    const mcpServers = {
      bank: createSdkMcpServer({ name: "bank", tools: toolsOf(turn), alwaysLoad: true }),
    };
    const agent = await startAgent(owner, { program, calls });
    const abortController = new AbortController();
    turn.signal?.addEventListener("abort", () => abortController.abort());
    const allowedTools = ["mcp__bank__pay", "mcp__bank__look"];
    try {
      await agent.run({ abortController, allowedTools, mcpServers });
      return { results: agent.results(), streamed: {} };
    } finally {
      for (const end of ends) await end();
    }
  },
});

test("[ours.sdk.frameworks.hook] Claude Code: a call waits for the hook, and runs once after the approval", async (t) => {
  const scene = await sharedScene();
  const agent = await start(t, { calls: [MARK] });
  const ended = agent.run(gateOptions(PERMITTED, { approvals: approvalsOf(scene) }));
  const id = await scene.nextPending();
  assert.equal(hasRun(agent), false);
  const { tool: name, arguments: args, context } = await scene.server.read(scene.token, id);
  assert.deepEqual([name, args], ["Bash", MARK.input]);
  await scene.server.decide(scene.reviewer, id, "approve");
  const result = await ended;
  assert.equal(hasRun(agent), true);
  assert.equal(Object(context).session_id, result?.session_id);
});

test("[ours.sdk.frameworks.words] Claude Code: the model receives the note of a denial, and the call does not run", async (t) => {
  const scene = await sharedScene();
  const agent = await start(t, { calls: [MARK] });
  const ended = agent.run(gateOptions(PERMITTED, { approvals: approvalsOf(scene) }));
  await scene.decideNext("deny", { note: "Not in this folder." });
  await ended;
  assert.match(agent.results().call_1 ?? "", /This call was denied: Not in this folder\.$/);
  assert.equal(hasRun(agent), false);
});

test("[ours.sdk.frameworks.hook] Claude Code: an expired call, an unreachable provider and an error of an option run nothing", async (t) => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene);
  const nowhere = approvalsOf({ ...scene, url: "http://127.0.0.1:1" }, { retryFor: "50ms" });
  const fails = () => {
    throw new Error("unexpected");
  };
  const cases: [ClaudeQueryOptions, RegExp][] = [
    [{ approvals, timeout: "1s" }, /No reviewer decided about this call in time/],
    [{ approvals: nowhere }, /No decision was received for this call/],
    [{ approvals, context: fails }, /its approval could not be checked/],
  ];
  for (const [settings, text] of cases) {
    const agent = await start(t, { calls: [MARK] });
    await agent.run(gateOptions(PERMITTED, settings));
    assert.match(agent.results().call_1 ?? "", text);
    assert.equal(hasRun(agent), false);
  }
});

test("[ours.sdk.frameworks.hook] Claude Code: a hook that throws or reaches its time limit blocks the call", async (t) => {
  const approvals = approvalsOf(await sharedScene());
  const { PreToolUse: [gate] = [] } = gateOptions({}, { approvals }).hooks ?? {};
  const throws: HookCallback = () => Promise.reject(new Error("unexpected"));
  const hangs: HookCallback = () => new Promise(() => {});
  for (const [hook, timeout] of [
    [throws, gate?.timeout],
    [hangs, 1],
  ] as const) {
    const agent = await start(t, { calls: [MARK] });
    const matcher = { ...gate, hooks: [hook], ...(timeout && { timeout }) };
    await agent.run({ ...PERMITTED, hooks: { PreToolUse: [matcher] } });
    assert.ok(agent.results().call_1 !== undefined);
    assert.equal(hasRun(agent), false);
  }
});

test("[ours.sdk.frameworks.abort] Claude Code: an aborted query cancels its request and runs nothing", async (t) => {
  const scene = await sharedScene();
  const abortController = new AbortController();
  const agent = await start(t, { calls: [MARK] });
  const options = { ...PERMITTED, abortController };
  const ended = agent.run(gateOptions(options, { approvals: approvalsOf(scene) }));
  const settled = Promise.allSettled([ended]);
  const id = await scene.nextPending();
  abortController.abort();
  await settled;
  const client = clientOf(scene);
  assert.equal((await client.read(id, { wait: "25s" })).status, "cancelled");
  assert.equal(hasRun(agent), false);
});

test("[ours.sdk.frameworks.turn] Claude Code: the hook decides each call of a turn separately, and leaves the excepted tool alone", async (t) => {
  const scene = await sharedScene();
  const calls = [
    bash("touch ran", "call_1"),
    bash("touch other", "call_2"),
    { id: "call_3", name: "Glob", input: { pattern: "*" } },
  ];
  const agent = await start(t, { calls });
  const settings = { approvals: approvalsOf(scene), except: ["Glob"] };
  const ended = agent.run(gateOptions(PERMITTED, settings));
  for (let i = 0; i < 2; i++) {
    const id = await scene.nextPending();
    const { arguments: args } = await scene.server.read(scene.token, id);
    const verdict = Object(args).command === "touch ran" ? "approve" : "deny";
    await scene.server.decide(scene.reviewer, id, verdict);
  }
  await ended;
  assert.deepEqual([hasRun(agent), existsSync(join(agent.folder, "other"))], [true, false]);
  assert.ok("call_3" in agent.results());
});

test("[ours.sdk.frameworks.hook] Claude Code: the calls of a subagent wait too", async (t) => {
  const scene = await sharedScene();
  const subagent = { prompt: "Touch the file.", calls: [bash("touch ran", "call_2")] };
  const input = { description: "d", prompt: subagent.prompt, subagent_type: "general-purpose" };
  const agent = await start(t, { calls: [{ id: "call_1", name: "Agent", input }], subagent });
  const settings = { approvals: approvalsOf(scene), except: ["Agent"] };
  const ended = agent.run(gateOptions(PERMITTED, settings));
  const id = await scene.nextPending();
  const { context } = await scene.server.read(scene.token, id);
  assert.equal(Object(context).agent_type, "general-purpose");
  await scene.server.decide(scene.reviewer, id, "deny");
  await ended;
  assert.equal(hasRun(agent), false);
});

test("[ours.sdk.frameworks.hook] Claude Code: the approved arguments replace changes by faster hooks", async (t) => {
  const scene = await sharedScene();
  const updatedInput = { command: "touch other", description: "Runs a command" };
  const changes: HookCallback = async () => {
    return { hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput } };
  };
  for (const before of [true, false]) {
    const agent = await start(t, { calls: [MARK] });
    const settings = { approvals: approvalsOf(scene) };
    const other = { PreToolUse: [{ hooks: [changes] }] };
    const gated = gateOptions({ ...PERMITTED, ...(before && { hooks: other }) }, settings);
    const after = [...(gated.hooks?.PreToolUse ?? []), ...other.PreToolUse];
    const ended = agent.run(before ? gated : { ...gated, hooks: { PreToolUse: after } });
    await scene.decideNext("approve");
    await ended;
    assert.deepEqual([hasRun(agent), existsSync(join(agent.folder, "other"))], [true, false]);
  }
});

test("[ours.sdk.frameworks.hook] Claude Code: settings of the project do not disable the hook", async (t) => {
  const scene = await sharedScene();
  const projectSettings = { disableAllHooks: true, permissions: { allow: ["Bash"] } };
  const agent = await start(t, { calls: [MARK], projectSettings });
  const ended = agent.run(gateOptions(PERMITTED, { approvals: approvalsOf(scene) }));
  await scene.decideNext("deny");
  await ended;
  assert.equal(hasRun(agent), false);
});

test("[ours.sdk.frameworks.suspend] Claude Code: with wait false a waiting call ends the query, and a resumed session runs it once", async (t) => {
  const scene = await sharedScene();
  const agent = await start(t, { calls: [MARK] });
  const before = await scene.countRequests();
  const store = new MemoryStore();
  const run = (more: Options = {}) => {
    const approvals = approvalsOf(scene, { wait: false, store });
    return agent.run(gateOptions({ ...PERMITTED, ...more }, { approvals }), "");
  };
  const first = await run();
  assert.equal(first?.stop_reason, "tool_deferred");
  const { session_id: resume = "" } = first ?? {};
  assert.equal((await run({ resume }))?.stop_reason, "tool_deferred");
  assert.equal(hasRun(agent), false);
  await scene.decideNext("approve");
  assert.equal((await run({ resume }))?.stop_reason, "end_turn");
  assert.equal(hasRun(agent), true);
  assert.equal(await scene.countRequests(), before + 1);
});

test("[ours.sdk.frameworks.suspend] Claude Code: with wait false, two calls of a response without streaming do not run", async (t) => {
  const scene = await sharedScene();
  const programs: Options[] = [
    {},
    { canUseTool: async (_name, updatedInput) => ({ behavior: "allow", updatedInput }) },
  ];
  for (const more of programs) {
    const calls = [MARK, bash("touch other", "call_2")];
    const agent = await start(t, { calls, isStreamed: false });
    const approvals = approvalsOf(scene, { wait: false });
    await agent.run(gateOptions({ ...PERMITTED, ...more }, { approvals }));
    assert.deepEqual([hasRun(agent), existsSync(join(agent.folder, "other"))], [false, false]);
    assert.match(agent.results().call_1 ?? "", /Propose it alone/);
    assert.match(agent.results().call_2 ?? "", /another call of this turn waits/);
    await scene.decideNext("deny");
  }
});

test("[ours.sdk.frameworks.hook] Claude Code: canUseTool decides the calls that Claude Code asks about", async (t) => {
  const scene = await sharedScene();
  const settings = { approvals: approvalsOf(scene), runId: "asked" };
  const agent = await start(t, { calls: [MARK] });
  const ended = agent.run({ canUseTool: canUseTool(settings) });
  const id = await scene.nextPending();
  assert.equal(hasRun(agent), false);
  await scene.server.decide(scene.reviewer, id, "approve");
  await ended;
  assert.equal(hasRun(agent), true);
});

test("[ours.sdk.frameworks.abort] Claude Code: an interrupted tool of the program cancels its request", async (t) => {
  const scene = await sharedScene();
  const abortController = new AbortController();
  const made = tool("pay", "pays", {}, async () => {
    return { content: [{ type: "text", text: neverPays() }] };
  });
  const tools = gateTools([made], { approvals: approvalsOf(scene), runId: "interrupted" });
  const calls = [{ id: "call_1", name: "mcp__bank__pay", input: {} }];
  const agent = await start(t, { calls });
  const settled = Promise.allSettled([
    agent.run({
      abortController,
      allowedTools: ["mcp__bank__pay"],
      mcpServers: { bank: createSdkMcpServer({ name: "bank", tools, alwaysLoad: true }) },
    }),
  ]);
  const id = await scene.nextPending();
  abortController.abort();
  await settled;
  const client = clientOf(scene);
  assert.equal((await client.read(id, { wait: "25s" })).status, "cancelled");
});
