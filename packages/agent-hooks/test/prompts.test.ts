/**
 * Hooks at the event before the agent's own prompt, hooks that another agent starts, and plugins.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { type Agent, OPENCLAW, OPENCODE, PI } from "@countersign/agents";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { newHome, run } from "./support/agent-home.ts";
import { callInput, decisionIn, feed, recorded } from "./support/hook-scene.ts";

const file = fileOwner();
let scene: AgentScene;

before(async () => {
  scene = await startAgentScene(file);
});

const REQUEST = recorded("claude-code-permission-request");

async function install(t: TestContext, agent: string, ...options: string[]) {
  const home = newHome(t);
  const args = ["install", agent, "--url", scene.url, ...options];
  const outcome = await run(t, home, args, { secret: scene.token });
  return { home, ...outcome };
}

/** The hook of Claude Code at its prompts. */
async function installAtPrompts(t: TestContext, ...options: string[]) {
  const { home, code, stderr } = await install(t, "claude-code", "--prompts-only", ...options);
  assert.equal(code, 0, stderr);
  const { hooks } = JSON.parse(readFileSync(home.settings, "utf8"));
  assert.deepEqual(Object.keys(hooks), ["PermissionRequest"]);
  const [{ hooks: handlers }] = hooks.PermissionRequest;
  const start = () =>
    feed(t, home.path, ["/bin/sh", "-c", handlers[0].command], { input: REQUEST });
  return { home, start };
}

/** The provider is at an address where nothing listens. */
function stopProvider(profile: string): void {
  const members = JSON.parse(readFileSync(profile, "utf8"));
  writeFileSync(profile, JSON.stringify({ ...members, url: "http://[::1]:9" }));
}

test("[ours.adapters.hook.prompts] a decision answers the prompt of Claude Code, for each call anew", async (t) => {
  const { start } = await installAtPrompts(t);
  for (const verdict of ["approve", "approve", "deny"] as const) {
    const hook = start();
    await scene.decideNext(verdict, { note: "Seen." });
    const outcome = await hook.ends();
    assert.equal(outcome.code, 0, outcome.stderr);
    const { hookEventName, decision } = JSON.parse(outcome.stdout).hookSpecificOutput;
    const denied = { behavior: "deny", message: "Countersign: This call was denied: Seen." };
    assert.equal(hookEventName, "PermissionRequest");
    assert.deepEqual(decision, verdict === "approve" ? { behavior: "allow" } : denied);
  }
});

test("[ours.adapters.hook.prompts] without a provider the hook denies, or with local_prompt decides nothing", async (t) => {
  const strict = await installAtPrompts(t);
  stopProvider(strict.home.profile);
  const { stdout } = await strict.start().ends();
  assert.equal(JSON.parse(stdout).hookSpecificOutput.decision.behavior, "deny");

  const lenient = await installAtPrompts(t, "--local-prompt");
  const pending = lenient.start();
  await scene.decideNext("deny");
  assert.match((await pending.ends()).stdout, /"behavior":"deny"/);
  stopProvider(lenient.home.profile);
  assert.deepEqual(await lenient.start().ends(), { code: 0, stdout: "{}\n", stderr: "" });
});

test("[ours.adapters.hook.prompts] install rejects prompts_only for an agent that has no such event", async (t) => {
  const copilot = await install(t, "copilot", "--prompts-only");
  assert.equal(copilot.code, 2);
  assert.match(copilot.stderr, /GitHub Copilot has no event for its prompts/);
  const local = await install(t, "claude-code", "--local-prompt");
  assert.equal(local.code, 2);
  assert.match(local.stderr, /--local-prompt needs --prompts-only/);
});

test("[ours.adapters.hook.prompts] doctor proves that the hook at the prompts denies", async (t) => {
  const { home } = await installAtPrompts(t);
  const { stdout } = await run(t, home, ["doctor", "claude-code", "--no-agent", "--json"]);
  const [{ findings }] = JSON.parse(stdout);
  const failed = findings.filter(({ level }: { readonly level: string }) => level === "fail");
  assert.deepEqual(failed, []);
});

test("[ours.adapters.agents.foreign] Cursor with the hook of Claude Code gets a denial in its own form", async (t) => {
  const { home, code, stderr } = await install(t, "claude-code");
  assert.equal(code, 0, stderr);
  const before = await scene.countRequests();
  const { hooks } = JSON.parse(readFileSync(home.settings, "utf8"));
  const words = ["/bin/sh", "-c", hooks.PreToolUse[0].hooks[0].command];
  const input = callInput({ cursor_version: "3.17.8" });
  const outcome = await feed(t, home.path, words, { input }).ends();
  const { permission, decision, agent_message: message } = JSON.parse(outcome.stdout);
  assert.deepEqual([permission, decision], ["deny", "block"]);
  assert.equal(decisionIn(outcome).permissionDecision, "deny");
  assert.match(message, /Cursor started the hook of Claude Code\. Install a hook for Cursor\./);
  assert.equal(await scene.countRequests(), before);
});

const HOOK_FAILED = "Countersign: the hook failed. The call did not run.";

/** The result of the hook command, and the reason of the denial. Undefined: the call may run. */
const RESULTS: readonly (readonly [command: string, denial: string | undefined])[] = [
  [`echo '{"decision":"allow"}'`, undefined],
  [`echo '{"decision":"deny","reason":"Not today."}'`, "Not today."],
  [`echo '{"decision":"allow"}'; exit 1`, HOOK_FAILED],
  ["echo '{}'", HOOK_FAILED],
  ["echo allow", HOOK_FAILED],
  ["true", HOOK_FAILED],
  ["kill -9 $$", HOOK_FAILED],
  ["/gone", HOOK_FAILED],
];

/** Loads the plugin of an agent with each command. */
async function* plugins(t: TestContext, { settings }: Agent) {
  assert.equal(settings.kind, "own-file");
  const folder = temporaryFolder(t);
  for (const [index, [command, denial]] of RESULTS.entries()) {
    const path = join(folder, `plugin-${index}.mjs`);
    writeFileSync(path, settings.text(command));
    yield { plugin: await import(pathToFileURL(path).href), folder, command, denial };
  }
}

test("[ours.adapters.agents.plugin] the plugin of OpenCode throws for every result other than an approval", async (t) => {
  for await (const { plugin, folder, command, denial } of plugins(t, OPENCODE)) {
    const handlers = await plugin.CountersignPlugin({ directory: folder });
    const call = { tool: "bash", sessionID: "s", callID: "c" };
    const called = handlers["tool.execute.before"](call, { args: { command: "ls" } });
    if (denial === undefined) await called;
    else await assert.rejects(called, { message: denial }, command);
  }
});

test("[ours.adapters.agents.plugin] the plugin of OpenClaw blocks, or returns the parameters that were approved", async (t) => {
  for await (const { plugin, command, denial } of plugins(t, OPENCLAW)) {
    const params = { command: "ls" };
    const answered = callInOpenClaw(plugin.default, params);
    // Another handler changes the call while a reviewer decides.
    params.command = "rm -r /";
    const approved = { params: { command: "ls" } };
    const expected = denial === undefined ? approved : { block: true, blockReason: denial };
    assert.deepEqual(await answered, expected, command);
  }
});

/** Calls the handler as OpenClaw does. */
function callInOpenClaw(
  plugin: { register(api: object): void },
  params: object,
): Promise<unknown> | undefined {
  let handle: ((event: object, context: object) => Promise<unknown>) | undefined;
  plugin.register({
    on: (event: string, handler: typeof handle, { priority }: { readonly priority: number }) => {
      assert.deepEqual([event, priority], ["before_tool_call", Number.MIN_SAFE_INTEGER]);
      handle = handler;
    },
  });
  const event = { toolName: "exec", toolCallId: "c", params };
  return handle?.(event, { sessionId: "s", agentId: "main" });
}

test("[ours.adapters.agents.plugin] the extension of Pi blocks for every result other than an approval", async (t) => {
  for await (const { plugin, folder, command, denial } of plugins(t, PI)) {
    const input = { command: "ls", options: { depth: 1 } };
    const answer = await callInPi(plugin.default, folder, input);
    const expected = denial === undefined ? undefined : { block: true, reason: denial };
    assert.deepEqual(answer, expected, command);
    // A later extension gets the same object.
    assert.throws(() => {
      input.options.depth = 2;
    }, /read only/);
  }
});

/** Calls the handler as Pi does. */
async function callInPi(
  extension: (pi: object) => void,
  cwd: string,
  input: object,
): Promise<unknown> {
  let handle: ((event: object, context: object) => Promise<unknown>) | undefined;
  extension({
    on: (event: string, handler: typeof handle) => {
      assert.equal(event, "tool_call");
      handle = handler;
    },
  });
  const event = { type: "tool_call", toolName: "bash", toolCallId: "c", input };
  return handle?.(event, { cwd, sessionManager: { getSessionId: () => "s" } });
}
