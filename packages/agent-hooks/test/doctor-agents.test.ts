// Tier: slow
/**
 * doctor starts the agent itself for a trial. `COUNTERSIGN_TEST_CLAUDE` and
 * `COUNTERSIGN_TEST_CODEX` are paths of the real programs; without them only a stand-in for the
 * agent is tried.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { before, type TestContext, test } from "node:test";
import { AGENTS } from "@countersign/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { trustState } from "../src/codex/trust.ts";
import {
  findings,
  type Home,
  type InstallScene,
  newHome,
  run,
  startInstallScene,
} from "./support/agent-home.ts";

const { COUNTERSIGN_TEST_CLAUDE: claude, COUNTERSIGN_TEST_CODEX: codex } = process.env;

const file = fileOwner();
let scene: InstallScene;

before(async () => {
  scene = await startInstallScene(file);
});

/** The PATH of a user who has installed that agent. */
function withProgram(t: TestContext, name: string, program: string): NodeJS.ProcessEnv {
  const bin = temporaryFolder(t);
  symlinkSync(program, join(bin, name));
  return { PATH: `${bin}:${process.env.PATH}` };
}

/** Speaks as much of the protocols of Claude Code as a trial needs. */
const AGENT_STAND_IN = `#!${process.execPath}
const { execFileSync, spawnSync } = require("node:child_process");
const { readFileSync } = require("node:fs");
if (process.argv[2] === "--version") {
  console.log("9.0.0 (Claude Code)");
  process.exit(0);
}
const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, CLAUDE_CONFIG_DIR, SECRET } = process.env;
if (SECRET !== undefined) throw new Error("the agent received a variable of the user");
const ask = async (messages) => {
  const body = JSON.stringify({ tools: [{ name: "Bash" }], messages });
  const headers = { "x-api-key": ANTHROPIC_API_KEY };
  const url = ANTHROPIC_BASE_URL + "/v1/messages";
  return (await fetch(url, { method: "POST", headers, body })).text();
};
(async () => {
  const turn = await ask([]);
  const json = /"partial_json":("(?:[^"\\\\]|\\\\.)*")/.exec(turn)[1];
  const tool_input = JSON.parse(JSON.parse(json));
  const settings = JSON.parse(readFileSync(CLAUDE_CONFIG_DIR + "/settings.json", "utf8"));
  let content = "command not found";
  if (!settings.isIgnored) {
    const { command } = settings.hooks.PreToolUse[0].hooks[0];
    const input = { hook_event_name: "PreToolUse", session_id: "s", tool_use_id: "t" };
    const words = JSON.stringify({ ...input, tool_name: "Bash", tool_input });
    content = spawnSync("/bin/sh", ["-c", command], { input: words, encoding: "utf8" }).stdout;
  } else console.log("These settings did not load.");
  await ask([{ role: "user", content: [{ type: "tool_result", content }] }]);
})();
`;

test("[ours.adapters.doctor.trial] an agent that loads the hook passes, one that ignores it fails", async (t) => {
  const program = join(temporaryFolder(t), "agent");
  writeFileSync(program, AGENT_STAND_IN, { mode: 0o755 });
  const env = withProgram(t, "claude", program);
  const home = newHome(t, "{}");
  await scene.install(t, home, "claude-code", "--wait", "2s");
  const good = await findings(t, home, "claude-code", env);
  assert.deepEqual([good.failed, good.all["agent.blocked"]?.level], [[], "ok"]);
  addMember(home, '"isIgnored": true');
  const bad = await findings(t, home, "claude-code", env);
  assert.deepEqual(bad.failed, ["agent.blocked"]);
  assert.match(bad.all["agent.blocked"]?.text ?? "", /printed: These settings did not load/);
  const skipped = await run(t, home, ["doctor", "claude-code", "--no-agent"], { env });
  assert.equal(skipped.code, 0, skipped.stdout);
});

test("[ours.adapters.doctor.trial] an agent that cannot be started for a trial is a note", async (t) => {
  const program = join(temporaryFolder(t), "agent");
  writeFileSync(program, '#!/bin/sh\necho "9.0.0 error: not signed in"\n', { mode: 0o755 });
  const home = newHome(t);
  await scene.install(t, home, "claude-code", "--wait", "2s");
  const { all, failed } = await findings(t, home, "claude-code", withProgram(t, "claude", program));
  assert.deepEqual([failed, all["agent.blocked"]?.level], [[], "warn"]);
  assert.match(all["agent.blocked"]?.text ?? "", /not proven. It printed: .+ not signed in/);
});

function addMember({ settings }: Home, member: string): void {
  const text = readFileSync(settings, "utf8");
  writeFileSync(settings, text.replace("{", `{${member},`));
}

if (claude !== undefined) {
  test("[ours.adapters.doctor.trial] the real Claude Code loads the hook, and not from settings that it ignores", async (t) => {
    const home = newHome(t, "{}");
    await scene.install(t, home, "claude-code", "--wait", "2s");
    const env = withProgram(t, "claude", claude);
    const good = await findings(t, home, "claude-code", env);
    assert.deepEqual([good.failed, good.all["agent.blocked"]?.level], [[], "ok"]);
    addMember(home, '"permissions": {"defaultMode": "nope"}');
    const bad = await findings(t, home, "claude-code", env);
    assert.deepEqual(bad.failed, ["agent.blocked"]);
    assert.match(bad.all["agent.blocked"]?.text ?? "", /settings did not load/);
  });
}

if (codex !== undefined) {
  test("[ours.adapters.codex.trust] the real Codex runs calls until install records the trust", async (t) => {
    const home = newHome(t);
    const config = join(dirname(home.codex), "config.toml");
    writeFileSync(config, "[features]\nunified_exec_tty = false\n");
    await scene.install(t, home, "codex", "--wait", "2s", "--no-trust");
    const env = withProgram(t, "codex", codex);
    const untrusted = await findings(t, home, "codex", env);
    assert.deepEqual(untrusted.failed, ["settings.trusted", "agent.blocked"]);
    await scene.install(t, home, "codex", "--wait", "2s");
    const { key, currentHash, trustStatus } = await listedHook(t, codex, home.path);
    assert.equal(trustStatus, "trusted");
    assert.equal(trustState(readFileSync(config, "utf8"), key)?.trusted_hash, currentHash);
    const trusted = await findings(t, home, "codex", env);
    assert.deepEqual([trusted.failed, trusted.all["agent.blocked"]?.level], [[], "ok"]);
  });
}

/** Paths of real programs of further agents, by the name of the agent. */
const PROGRAMS: Readonly<Record<string, string | undefined>> = {
  cline: process.env.COUNTERSIGN_TEST_CLINE,
  copilot: process.env.COUNTERSIGN_TEST_COPILOT,
  "gemini-cli": process.env.COUNTERSIGN_TEST_GEMINI,
  hermes: process.env.COUNTERSIGN_TEST_HERMES,
  kimi: process.env.COUNTERSIGN_TEST_KIMI,
  openclaw: process.env.COUNTERSIGN_TEST_OPENCLAW,
  opencode: process.env.COUNTERSIGN_TEST_OPENCODE,
  pi: process.env.COUNTERSIGN_TEST_PI,
};

/** Doctor stops a trial before. */
const DOCTOR_MS_MAX = 240_000;

for (const agent of AGENTS) {
  const path = PROGRAMS[agent.name];
  if (path === undefined) continue;
  test(`[ours.adapters.doctor.trial] the real ${agent.title} loads the hook, and runs calls without it`, async (t) => {
    const home = newHome(t);
    await scene.install(t, home, agent.name, "--wait", "2s");
    const env = withProgram(t, agent.program ?? "", path);
    const examine = () => findings(t, home, agent.name, env, DOCTOR_MS_MAX);
    const settings = agent.settings.file({}).replace(homedir(), home.path);
    const text = readFileSync(settings, "utf8");
    if (agent.name === "hermes") {
      const asked = await examine();
      assert.deepEqual(asked.failed, ["settings.consent", "agent.blocked"]);
      writeFileSync(settings, `${text}hooks_auto_accept: true\n`);
    }
    if (agent.name === "openclaw") {
      const ignored = await examine();
      assert.deepEqual(ignored.failed, ["settings.disabled", "agent.blocked"]);
      const plugins = { load: { paths: [settings] }, entries: { countersign: { enabled: true } } };
      writeFileSync(join(dirname(settings), "openclaw.json"), JSON.stringify({ plugins }));
    }
    const good = await examine();
    assert.deepEqual([good.failed, good.all["agent.blocked"]?.level], [[], "ok"]);
    // The agent ignores the file, and doctor still finds the hook in it.
    const isOwnFile = agent.settings.kind === "own-file";
    const isScript = agent.name === "cline";
    const unused = isScript ? ["\nexec", "\nexit 0\nexec"] : [agent.events[0].name, "x"];
    const [from = "", to = ""] = isOwnFile ? unused : ["hooks", "x"];
    writeFileSync(settings, text.replaceAll(from, to));
    const bad = await examine();
    assert.ok(bad.failed.includes(isOwnFile ? "agent.blocked" : "settings"));
  });
}

/** The hook as Codex itself lists it. */
async function listedHook(
  t: TestContext,
  program: string,
  home: string,
): Promise<Readonly<Record<"key" | "currentHash" | "trustStatus", string>>> {
  const child = spawn(program, ["app-server"], {
    cwd: home,
    env: { ...process.env, HOME: home, CODEX_HOME: join(home, ".codex") },
    stdio: ["pipe", "pipe", "ignore"],
  });
  t.after(() => child.kill());
  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const clientInfo = { name: "test", version: "1" };
  send({ id: 1, method: "initialize", params: { clientInfo } });
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, result } = JSON.parse(line);
    if (id === 1) {
      send({ method: "initialized" });
      send({ id: 2, method: "hooks/list", params: { cwds: [home] } });
    }
    if (id === 2) return result.data[0].hooks[0];
  }
  throw new Error("codex app-server closed without an answer");
}
