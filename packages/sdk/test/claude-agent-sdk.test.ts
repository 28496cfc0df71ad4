// Needs: frameworks
// Process: own
/**
 * The adapter for the Claude Agent SDK, without Claude Code: the tests call the hook as the SDK
 * does, and the tools through their MCP server. `claude-code.test.ts` runs Claude Code itself.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CanUseTool, Options } from "@anthropic-ai/claude-agent-sdk";
import {
  type ClaudeQueryOptions,
  canUseTool,
  gateOptions,
  gateTools,
  type NotRun,
} from "@countersign/sdk/claude-agent-sdk";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, clientOf, neverPays, sharedScene } from "./support/framework-scene.ts";
import { connect, framework, textOf, toolOf } from "./support/frameworks/claude-agent-sdk.ts";

frameworkRules(framework);

test("[ours.sdk.frameworks.ungateable] claude-agent-sdk: a tool called without a call id does not run", async () => {
  const approvals = approvalsOf(await sharedScene());
  const client = await connect(
    gateTools([toolOf("pay", neverPays)], { approvals, runId: "no id" }),
  );
  const result = await client.callTool({ name: "pay", arguments: { to: "A-1", cents: 5 } });
  assert.equal(result.isError, true);
  assert.match(textOf(result), /Cannot gate tool pay: it is called without a tool call/);
});

test("[ours.sdk.frameworks.selection] claude-agent-sdk: gateTools rejects an unknown name, and gates only the selected tools", async () => {
  const approvals = approvalsOf(await sharedScene());
  const tools = [toolOf("pay", () => "paid")];
  assert.throws(
    () => gateTools(tools, { approvals, runId: "names", only: ["Pay"] }),
    /only or except names unknown tools: "Pay"/,
  );
  const [ungated] = gateTools(tools, { approvals, runId: "names", except: ["pay"] });
  assert.equal(ungated, tools[0]);
});

const SESSION = "6b1b7d6a-4a5e-4a0d-9f7e-0c1b8f1d2e3f";
const BASH = { command: "ls", description: "Lists" };

interface HookCall {
  readonly id?: string;
  readonly tool?: string;
  readonly args?: object;
  readonly more?: object;
  readonly signal?: AbortSignal;
}

type Hook = (call?: HookCall) => Promise<Readonly<Record<string, unknown>>>;

/** Calls the hook of `gateOptions` as the SDK does. */
function hookOf(settings: ClaudeQueryOptions, options: Options = {}): Hook {
  const gate = gateOptions(options, settings).hooks?.PreToolUse?.at(-1);
  return async (call = {}) => {
    const input = inputOf(call);
    const { signal = new AbortController().signal } = call;
    const answer = await gate?.hooks[0]?.(input, input.tool_use_id, { signal });
    return Object(Object(answer).hookSpecificOutput);
  };
}

function inputOf({ id = "toolu_1", tool: name = "Bash", args = BASH, more }: HookCall) {
  return {
    session_id: SESSION,
    transcript_path: "/tmp/transcript",
    cwd: "/srv/work",
    permission_mode: "default",
    prompt_id: "prompt_1",
    hook_event_name: "PreToolUse" as const,
    tool_name: name,
    tool_input: args,
    tool_use_id: id,
    ...more,
  };
}

function decisionOf(answer: unknown): unknown {
  return Object(Object(answer).hookSpecificOutput).permissionDecision;
}

test("[ours.sdk.frameworks.hook] claude-agent-sdk: the hook keeps other hooks, blocks on errors and outlasts every decision window", async () => {
  const approvals = approvalsOf(await sharedScene());
  const mine = { hooks: [async () => ({})] };
  const before = { cwd: "/srv/work", hooks: { PreToolUse: [mine], Stop: [mine] } };
  const { cwd, hooks } = gateOptions(before, { approvals });
  assert.deepEqual([cwd, hooks?.Stop, hooks?.PreToolUse?.[0]], ["/srv/work", [mine], mine]);
  assert.equal(before.hooks.PreToolUse.length, 1);
  const gate = hooks?.PreToolUse?.[1];
  assert.equal(gate?.onFailure, "block");
  assert.equal(gate?.matcher, undefined);
  assert.ok((gate?.timeout ?? 0) > 7 * 24 * 3_600);
});

test("[ours.sdk.frameworks.hook] claude-agent-sdk: the hook submits session, call and MCP server, and returns the approved arguments", async () => {
  const scene = await sharedScene();
  const hook = hookOf({ approvals: approvalsOf(scene), context: { model: "scripted" } });
  const mcp_server = { name: "bank", source: "sdk" };
  const decided = hook({ tool: "mcp__bank__pay", args: { to: " A " }, more: { mcp_server } });
  const id = await scene.nextPending();
  const { tool: name, arguments: args, context } = await scene.server.read(scene.token, id);
  assert.deepEqual([name, args], ["mcp__bank__pay", { to: " A " }]);
  assert.deepEqual(context, {
    cwd: "/srv/work",
    mcp_server: "bank",
    mcp_server_source: "sdk",
    model: "scripted",
    runtime: "claude-agent-sdk",
    server: "bank",
    server_tool: "pay",
    session_id: SESSION,
    call_id: "toolu_1",
  });
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.deepEqual(await decided, {
    hookEventName: "PreToolUse",
    permissionDecision: "allow",
    updatedInput: { to: " A " },
  });
});

test("[ours.sdk.frameworks.once] claude-agent-sdk: the hook permits a repeated call id once", async () => {
  const scene = await sharedScene();
  const hook = hookOf({ approvals: approvalsOf(scene), runId: "hook once" });
  const first = hook();
  await scene.decideNext("approve");
  assert.equal((await first).permissionDecision, "allow");
  const second = await hook();
  assert.equal(second.permissionDecision, "deny");
  assert.match(String(second.permissionDecisionReason), /^The approval of this call was used/);
});

test("[ours.sdk.frameworks.words] claude-agent-sdk: the hook denies denied, expired and undecided calls with their reason", async () => {
  const scene = await sharedScene();
  const kinds: string[] = [];
  const onNotRun = ({ notRun }: NotRun) => void kinds.push(notRun);
  const approvals = approvalsOf(scene);
  const denied = hookOf({ approvals, runId: "hook denied", onNotRun })();
  await scene.decideNext("deny", { note: "Not that folder." });
  assert.deepEqual(await denied, {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "This call was denied: Not that folder.",
  });
  const expired = await hookOf({ approvals, runId: "hook expired", timeout: "1s", onNotRun })();
  assert.equal(expired.permissionDecision, "deny");
  const nowhere = approvalsOf({ ...scene, url: "http://127.0.0.1:1" }, { retryFor: "50ms" });
  const undecided = await hookOf({ approvals: nowhere, onNotRun })();
  assert.equal(undecided.permissionDecision, "deny");
  assert.match(String(undecided.permissionDecisionReason), /^No decision was received/);
  assert.deepEqual(kinds, ["denied", "expired", "no_decision"]);
});

test("[ours.sdk.frameworks.abort] claude-agent-sdk: an aborted hook denies the call and cancels its request", async () => {
  const scene = await sharedScene();
  const abandoned = new AbortController();
  const hook = hookOf({ approvals: approvalsOf(scene), runId: "hook aborted" });
  const decided = hook({ signal: abandoned.signal });
  const id = await scene.nextPending();
  abandoned.abort();
  assert.equal((await decided).permissionDecision, "deny");
  const client = clientOf(scene);
  assert.equal((await client.read(id, { wait: "25s" })).status, "cancelled");
});

test("[ours.sdk.frameworks.hook] claude-agent-sdk: an error of an option or a call without ids denies the call", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene);
  const fails = () => {
    throw new Error("secret");
  };
  const before = await scene.countRequests();
  const reasons = [];
  for (const [hook, call] of [
    [hookOf({ approvals, only: fails }), {}],
    [hookOf({ approvals, context: fails }), {}],
    [hookOf({ approvals, runId: fails }), {}],
    [hookOf({ approvals }), { more: { tool_use_id: undefined } }],
    [hookOf({ approvals }), { more: { session_id: "" } }],
  ] as const) {
    const { permissionDecision, permissionDecisionReason } = await hook(call);
    assert.equal(permissionDecision, "deny");
    reasons.push(String(permissionDecisionReason));
  }
  assert.ok(reasons.every((reason) => reason.startsWith("This call was not run, because its")));
  assert.ok(!reasons.join().includes("secret"));
  assert.match(reasons.at(-1) ?? "", /runId must name the run/);
  assert.equal(await scene.countRequests(), before);
});

test("[ours.sdk.frameworks.selection] claude-agent-sdk: the hook leaves unselected tools to Claude Code", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene);
  const before = await scene.countRequests();
  assert.deepEqual(await hookOf({ approvals, except: ["Bash"] })(), {});
  assert.deepEqual(await hookOf({ approvals, only: (name) => name.startsWith("mcp__") })(), {});
  assert.equal(await scene.countRequests(), before);
});

test("[ours.sdk.frameworks.suspend] claude-agent-sdk: with wait false, the hook defers a call until its decision", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const before = await scene.countRequests();
  const hook = hookOf({ approvals, runId: "deferred" });
  assert.equal((await hook()).permissionDecision, "defer");
  assert.equal((await hook()).permissionDecision, "defer");
  await scene.decideNext("approve");
  // Another process resumes the session, without a prompt.
  const resumed = hookOf({ approvals, runId: "deferred" });
  assert.equal((await resumed({ more: { prompt_id: undefined } })).permissionDecision, "allow");
  assert.equal(await scene.countRequests(), before + 1);
});

test("[ours.sdk.frameworks.suspend] claude-agent-sdk: a second waiting call of a turn, and one of a subagent, are denied and cancelled", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const cancelled: string[] = [];
  const onNotRun = (_: NotRun, result?: { readonly requestId?: string | undefined }) => {
    cancelled.push(String(result?.requestId));
  };
  const hook = hookOf({ approvals, runId: "two", onNotRun });
  assert.equal((await hook({ id: "toolu_1" })).permissionDecision, "defer");
  const second = await hook({ id: "toolu_2" });
  const nested = await hook({ id: "toolu_3", more: { prompt_id: "p", agent_id: "agent" } });
  const reasons = [second, nested].map(({ permissionDecisionReason: reason }) => String(reason));
  assert.match(reasons[0] ?? "", /because another call of this turn waits for its approval\.$/);
  assert.match(reasons[1] ?? "", /because a call of a subagent cannot be suspended\.$/);
  const client = clientOf(scene);
  const statuses = cancelled.map(async (id) => (await client.read(id)).status);
  assert.deepEqual(await Promise.all(statuses), ["pending", "cancelled", "cancelled"]);
  await scene.decideNext("deny");
  assert.equal((await hook({ id: "toolu_1" })).permissionDecision, "deny");
  // The turn has no waiting call any more.
  assert.equal((await hook({ id: "toolu_4" })).permissionDecision, "defer");
  await scene.decideNext("deny");
});

test("[ours.sdk.frameworks.suspend] claude-agent-sdk: an approved call runs after a change of the permission mode, but not in another working directory", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const hook = hookOf({ approvals, runId: "changed" });
  assert.equal((await hook()).permissionDecision, "defer");
  await scene.decideNext("approve");
  const moved = await hook({ more: { cwd: "/srv/other" } });
  assert.equal(moved.permissionDecision, "deny");
  assert.match(
    String(moved.permissionDecisionReason),
    /another working directory, .* is now \/srv\/other\. Propose the call again/,
  );
  assert.equal(
    (await hook({ more: { permission_mode: "acceptEdits" } })).permissionDecision,
    "allow",
  );
});

test("[ours.sdk.frameworks.suspend] claude-agent-sdk: no function of the program permits a deferred call", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const own: CanUseTool = async (_name, updatedInput) => ({ behavior: "allow", updatedInput });
  const options = gateOptions({ canUseTool: own }, { approvals, runId: "guarded" });
  const [hook, guard] = options.hooks?.PreToolUse?.[0]?.hooks ?? [];
  assert.ok(hook !== undefined && guard !== undefined);
  const { signal } = new AbortController();
  const decisions = async (): Promise<unknown[]> => {
    const input = inputOf({});
    const answers = [hook(input, "toolu_1", { signal }), guard(input, "toolu_1", { signal })];
    return (await Promise.all(answers)).map(decisionOf);
  };
  const permitted = async (toolUseID: string): Promise<unknown> => {
    const answer = await options.canUseTool?.("Bash", BASH, { signal, toolUseID, requestId: "r" });
    return answer?.behavior;
  };
  assert.deepEqual(await decisions(), ["defer", "ask"]);
  assert.deepEqual([await permitted("toolu_1"), await permitted("toolu_2")], ["deny", "allow"]);
  await scene.decideNext("approve");
  assert.deepEqual(await decisions(), ["allow", undefined]);
  assert.equal(await permitted("toolu_1"), "allow");
  assert.equal(decisionOf(await guard(inputOf({}), "toolu_1", { signal })), "ask");
});

test("[ours.sdk.frameworks.suspend] claude-agent-sdk: the hook defers a call of a later turn, also after an earlier turn was never resumed", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const hook = hookOf({ approvals, runId: "later turn" });
  const resumed = { prompt_id: undefined };
  assert.equal((await hook({ id: "toolu_1" })).permissionDecision, "defer");
  assert.equal((await hook({ id: "toolu_1", more: resumed })).permissionDecision, "defer");
  const later = { id: "toolu_2", more: { prompt_id: "prompt_2" } };
  assert.equal((await hook(later)).permissionDecision, "defer");
  assert.equal((await hook({ ...later, more: resumed })).permissionDecision, "defer");
  await scene.decideNext("deny");
  await scene.decideNext("deny");
});

const ASKED: Parameters<CanUseTool>[2] = {
  signal: new AbortController().signal,
  toolUseID: "toolu_1",
  requestId: "request_1",
};

test("[ours.sdk.frameworks.hook] claude-agent-sdk: canUseTool allows an approved call, and denies every other one", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene);
  const allowed = canUseTool({ approvals, runId: "asked" })("Bash", BASH, ASKED);
  await scene.decideNext("approve");
  assert.deepEqual(await allowed, { behavior: "allow", updatedInput: BASH });
  const denied = canUseTool({ approvals, runId: "asked 2" })("Bash", BASH, ASKED);
  await scene.decideNext("deny", { note: "No." });
  assert.deepEqual(await denied, { behavior: "deny", message: "This call was denied: No." });
  const failing = canUseTool({ approvals, runId: "" })("Bash", BASH, ASKED);
  assert.equal((await failing)?.behavior, "deny");
});

test("[ours.sdk.frameworks.selection] claude-agent-sdk: canUseTool passes other tools to the next function, or denies them", async () => {
  const settings = { approvals: approvalsOf(await sharedScene()), runId: "r", except: ["Bash"] };
  const next: CanUseTool = async (_, input) => ({ behavior: "allow", updatedInput: input });
  assert.equal((await canUseTool(settings, next)("Bash", BASH, ASKED))?.behavior, "allow");
  assert.deepEqual(await canUseTool(settings)("Bash", BASH, ASKED), {
    behavior: "deny",
    message: "Bash is not permitted.",
  });
});

test("[ours.sdk.frameworks.held] claude-agent-sdk: a call of canUseTool and of gateTools waits also with wait: false, because it cannot be suspended", async () => {
  const scene = await sharedScene();
  const settings = { approvals: approvalsOf(scene, { wait: false }), runId: "must wait" };
  const asked = canUseTool(settings)("Bash", BASH, ASKED);
  await scene.decideNext("approve");
  assert.equal((await asked)?.behavior, "allow");
  const client = await connect(gateTools([toolOf("pay", () => "paid")], settings));
  const _meta = { "claudecode/toolUseId": "toolu_2" };
  const called = client.callTool({ name: "pay", arguments: { to: "A-1", cents: 5 }, _meta });
  await scene.decideNext("approve");
  assert.equal(textOf(await called), "paid");
});
