/**
 * The hooks as agents run them, against a real provider: what is asked, what is answered, and that
 * nothing else is ever taken for a yes.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { type JsonObject, parseJson } from "@countersign/protocol";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { BIN as COUNTERSIGN } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { startMisbehavingProvider } from "@countersign/testing/misbehaving-provider";
import {
  assertBlocked,
  BIN,
  callInput,
  decisionIn,
  feed,
  type HookRun,
  type HookScene,
  recorded,
  runHook,
  startHook,
  startHookScene,
} from "./support/hook-scene.ts";

const file = fileOwner();
let scene: HookScene;

before(async () => {
  scene = await startHookScene(file);
});

function start(t: TestContext, run: HookRun) {
  return startHook(t, scene.home, { env: scene.environment, ...run });
}

async function exactText(id: string): Promise<{ args: string; context: JsonObject }> {
  const { text } = await scene.server.call("GET", `/v1/requests/${id}`, { token: scene.token });
  const members = (parseJson(text) as JsonObject).members;
  const context = members.get("context") as JsonObject;
  return { args: (members.get("arguments") as JsonObject).source, context };
}

const INPUTS = {
  "claude-code-observed": "claude-code",
  "claude-code-subagent-mcp": "claude-code",
  "codex-bash": "codex",
  "codex-apply-patch": "codex",
};

for (const [name, agent] of Object.entries(INPUTS)) {
  test(`[ours.adapters.hook.asks] ${name}: the hook submits the exact call, and allows it after an approval`, async (t) => {
    const input = recorded(name);
    const hook = start(t, { agent, input });
    const id = await scene.decideNext("approve");
    const outcome = await hook.ends();
    assert.deepEqual([outcome.code, outcome.stderr], [0, ""]);
    if (agent === "codex") assert.equal(outcome.stdout, "{}\n");
    else assert.equal(decisionIn(outcome).permissionDecision, "allow");

    const sent = (parseJson(input) as JsonObject).members;
    const { args, context } = await exactText(id);
    assert.equal(args, (sent.get("tool_input") as JsonObject).source);
    assert.equal(context.members.get("runtime"), agent);
    assert.equal(context.members.get("call_id"), sent.get("tool_use_id"));
    for (const member of ["session_id", "cwd", "permission_mode", "agent_type", "model"]) {
      assert.equal(context.members.get(member), sent.get(member), member);
    }
  });
}

test("[ours.adapters.hook.once] the hook does not answer with the same approval twice", async (t) => {
  const input = callInput();
  const hook = start(t, { input });
  await scene.decideNext("approve");
  assert.equal(decisionIn(await hook.ends()).permissionDecision, "allow");
  const again = decisionIn(await start(t, { input }).ends());
  assert.equal(again.permissionDecision, "deny");
  assert.match(again.permissionDecisionReason ?? "", /was used before/);
});

test("[ours.adapters.hook.denied] the note of a denial reaches the model, in the words of its agent", async (t) => {
  const note = "Use the staging database.\nAsk Ada.";
  for (const agent of ["claude-code", "codex"]) {
    const hook = start(t, { agent, input: callInput() });
    await scene.decideNext("deny", { note });
    const outcome = await hook.ends();
    const words = `Countersign: This call was denied: ${note}`;
    if (agent === "codex") {
      assert.deepEqual(outcome, { code: 2, stdout: "", stderr: `${words}\n` });
    } else {
      assert.deepEqual([outcome.code, outcome.stderr], [0, ""]);
      const { permissionDecision, permissionDecisionReason } = decisionIn(outcome);
      assert.deepEqual([permissionDecision, permissionDecisionReason], ["deny", words]);
    }
  }
});

test("[ours.adapters.hook.denied] an expired call does not run and is not reported as denied", async (t) => {
  const env = { ...scene.environment, COUNTERSIGN_HOOK_WAIT: "1s" };
  const [claude, codex] = await Promise.all([
    start(t, { input: callInput(), env }).ends(),
    start(t, { agent: "codex", input: callInput(), env }).ends(),
  ]);
  assertBlocked(claude, /No reviewer decided .+ This is not a denial/);
  assertBlocked(codex, /No reviewer decided .+ This is not a denial/, "codex");
});

async function becomesCancelled(id: string): Promise<void> {
  await eventually("that the request is cancelled", async () => {
    const { status } = await scene.server.read(scene.token, id);
    return status === "cancelled" ? true : undefined;
  });
}

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  test(`[ours.adapters.hook.stopped] ${signal} takes the request back, and the call is not run`, async (t) => {
    const hook = start(t, { input: callInput() });
    const id = await scene.nextPending();
    assertBlocked(await hook.end(signal), /abandoned/);
    assert.equal((await scene.server.read(scene.token, id)).status, "cancelled");
  });
}

test("[ours.adapters.hook.stopped] when the agent exits, the hook cancels the request", async (t) => {
  // A shell replaces the agent; the hook is its child.
  const shell = ["/bin/sh", "-c", '"$@"; exit $?', "sh", process.execPath, BIN, "hook", "codex"];
  const agent = feed(t, scene.home, shell, { input: callInput(), env: scene.environment });
  const id = await scene.nextPending();
  agent.signal("SIGKILL");
  await becomesCancelled(id);
});

test("[ours.adapters.hook.closed] an unreachable or rejecting provider blocks the call", async (t) => {
  const env = (fields: object) => ({ ...scene.environment, ...fields });
  const misbehaving = await startMisbehavingProvider(t, ({ kind, correctAnswer }) => {
    return kind === "read" ? correctAnswer.replace("make deploy", "make coffee") : correctAnswer;
  });
  const [gone, wrongToken, wrongAnswer, plain, redirected] = await Promise.all(
    [
      { COUNTERSIGN_URL: "http://127.0.0.1:9" },
      { COUNTERSIGN_API_KEY: `${scene.token.slice(0, -1)}x` },
      { COUNTERSIGN_URL: misbehaving.url },
      { COUNTERSIGN_URL: "http://provider.example" },
      { COUNTERSIGN_URL: `${scene.url}/nowhere` },
    ].map((fields) => start(t, { input: callInput(), env: env(fields) }).ends()),
  );
  assert.ok(gone && wrongToken && wrongAnswer && plain && redirected);
  assertBlocked(gone, /No decision .+ could not be reached/);
  assertBlocked(wrongToken, /No decision .+ Check the API key/);
  assertBlocked(wrongAnswer, /violates the contract/);
  assertBlocked(plain, /Use https/);
  assertBlocked(redirected, /No decision/);
});

test("[ours.workload.key-file] the hook reads the key in the file of COUNTERSIGN_API_KEY_FILE, and blocks the call without it", async (t) => {
  const keyFile = join(temporaryFolder(t), "key");
  const env = { ...scene.environment, COUNTERSIGN_API_KEY: "", COUNTERSIGN_API_KEY_FILE: keyFile };
  assertBlocked(
    await start(t, { input: callInput(), env }).ends(),
    /COUNTERSIGN_API_KEY_FILE does not name a readable file/,
  );
  writeFileSync(keyFile, `${scene.token}\n`);
  const hook = start(t, { input: callInput(), env });
  await scene.decideNext("approve");
  assert.equal(decisionIn(await hook.ends()).permissionDecision, "allow");
});

test("[ours.adapters.hook.closed] agent input that the hook cannot submit does not run", async (t) => {
  const deep = `${'{"a":'.repeat(200)}1${"}".repeat(200)}`;
  const raw = (text: string) => callInput({ tool_input: "HERE" }).replace('"HERE"', text);
  const inputs: Readonly<Record<string, readonly [string | Uint8Array, RegExp]>> = {
    nothing: ["", /sent no input/],
    garbled: ['{"hook_event_name":', /is not valid/],
    "a list": ["[]", /not a JSON object/],
    "not UTF-8": [Buffer.from([0x7b, 0xff, 0x7d]), /UTF-8/],
    "another event": [callInput({ hook_event_name: "PostToolUse" }), /"PostToolUse"/],
    "no event": [callInput({ hook_event_name: undefined }), /is none/],
    "no tool": [callInput({ tool_name: "" }), /tool_name/],
    "no arguments": [callInput({ tool_input: undefined }), /tool_input/],
    "arguments that are a list": [raw("[1]"), /tool_input/],
    "no session": [callInput({ session_id: undefined }), /session_id .+ Upgrade Claude Code/],
    "no id of the call": [callInput({ tool_use_id: undefined }), /tool_use_id .+ Upgrade/],
    "an id with a line break": [callInput({ tool_use_id: "a\nb" }), /tool_use_id/],
    "one key twice": [raw('{"command":"ls","command":"rm -rf /"}'), /same key twice/],
    "half a character": [raw('{"command":"\\ud800"}'), /is not valid/],
    "too deep": [raw(deep), /is not valid/],
    "a number without end": [raw(`{"n":${"1".repeat(2_000)}}`), /is not valid/],
    "a call too large for the provider": [raw(`{"c":"${"x".repeat(2_000_000)}"}`), /No decision/],
    "a call too large for the hook": [
      raw(`{"c":"${"x".repeat(17_000_000)}"}`),
      /larger than 16 MiB/,
    ],
  };
  const count = await scene.countRequests();
  for (const [name, [input, reason]] of Object.entries(inputs)) {
    const outcome = await start(t, { input }).ends();
    assertBlocked(outcome, reason);
    assert.ok(!`${outcome.stdout}${outcome.stderr}`.includes("rm -rf"), name);
  }
  assert.equal(await scene.countRequests(), count);
});

test("[ours.adapters.hook.ends] the hook of both programs compiles nothing in V8 threads", async (t) => {
  const strings = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => `item ${index}`));
  const input = callInput({ tool_input: { strings: "HERE" } }).replace('"HERE"', strings);
  const env = { ...scene.environment, COUNTERSIGN_URL: "http://provider.example" };
  for (const bin of [BIN, COUNTERSIGN]) {
    const words = [process.execPath, "--trace-opt", bin, "hook", "codex"];
    const { stdout, stderr } = await feed(t, scene.home, words, { input, env }).ends();
    assert.match(stderr, /Use https/);
    const compiled = stdout.matchAll(/^\[compiling method .+ <JSFunction (\S+) /gm);
    const names = new Set([...compiled].map(([, name]) => name));
    // While the modules load, V8 compiles a few functions of Node.
    assert.ok(names.size < 10, `${bin}: ${[...names].join(" ")}`);
  }
});

test("[ours.adapters.hook.closed] a hook with wrong arguments or without setup blocks the call", async (t) => {
  const input = callInput();
  for (const run of [
    { agent: "other" },
    { agent: "constructor" },
    { args: ["more"] },
    { args: ["--fast"] },
  ]) {
    assertBlocked(await start(t, { input, ...run }).ends(), /Invalid arguments/, "codex");
  }
  const runs: readonly (readonly [HookRun, RegExp])[] = [
    [{ input, env: {} }, /Run: countersign-agent-hooks install claude-code/],
    [{ input, args: ["--profile", "relative.json"] }, /absolute/],
    [{ input, args: ["--profile", "/nowhere/profile.json"] }, /profile does not exist/],
    [{ input, env: { ...scene.environment, COUNTERSIGN_HOOK_WAIT: "soon" } }, /168h/],
    [{ input, env: { ...scene.environment, COUNTERSIGN_HOOK_KEEP_PROMPTS: "1" } }, /true or/],
  ];
  for (const [run, reason] of runs) assertBlocked(await start(t, run).ends(), reason);
});

test("[ours.adapters.hook.left] the canary of doctor is blocked without a profile and sends no request", async (t) => {
  const count = await scene.countRequests();
  const id = "0a1b2c3d-0000-4000-8000-00000000000a";
  const input = callInput({ tool_input: { command: `countersign_canary ${id}` } });
  const env = { ...scene.environment, COUNTERSIGN_HOOK_LEAVE: "*" };
  for (const variables of [{}, env]) {
    const outcome = await start(t, { input, env: variables }).ends();
    assertBlocked(outcome, new RegExp(`blocked the canary ${id}`));
  }
  assert.equal(await scene.countRequests(), count);
  // Any other text is a call like every other.
  const other = callInput({ tool_input: { command: `countersign_canary ${id}; ls` } });
  const hook = start(t, { input: other });
  await scene.decideNext("approve");
  assert.equal(decisionIn(await hook.ends()).permissionDecision, "allow");
});

test("[ours.adapters.hook.left] tools left to the agent are neither submitted nor allowed", async (t) => {
  const env = { ...scene.environment, COUNTERSIGN_HOOK_LEAVE: "Read, mcp__docs__*" };
  const count = await scene.countRequests();
  for (const tool_name of ["Read", "mcp__docs__search"]) {
    const outcome = await runHook(t, scene.home, { input: callInput({ tool_name }), env });
    assert.deepEqual(outcome, { code: 0, stdout: "{}\n", stderr: "" });
  }
  assert.equal(await scene.countRequests(), count);
  // Neither a part of a name nor another case is one.
  for (const tool_name of ["ReadAll", "read", "mcp__docs_"]) {
    const hook = start(t, { input: callInput({ tool_name }), env });
    await scene.decideNext("deny");
    assert.equal(decisionIn(await hook.ends()).permissionDecision, "deny");
  }
});

test("[ours.adapters.hook.left] with kept prompts an approval leaves the rest to the agent's own", async (t) => {
  const env = { ...scene.environment, COUNTERSIGN_HOOK_KEEP_PROMPTS: "true" };
  const hook = start(t, { input: callInput(), env });
  await scene.decideNext("approve");
  assert.deepEqual(await hook.ends(), { code: 0, stdout: "{}\n", stderr: "" });
});

test("[ours.adapters.hook.profile] the deprecated names of the variables work, and the hook prints no warning", async (t) => {
  const env = {
    COUNTERSIGN_ADAPTER_URL: scene.url,
    COUNTERSIGN_ADAPTER_TOKEN: scene.token,
    COUNTERSIGN_ADAPTER_WAIT: "60s",
  };
  const hook = startHook(t, scene.home, { input: callInput(), env });
  await scene.decideNext("approve");
  const { code, stderr } = await hook.ends();
  assert.deepEqual([code, stderr], [0, ""]);
});
