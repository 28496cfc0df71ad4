// Tier: nightly
// Needs: coding-agents
/** doctor starts the real coding agents for a trial. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { before, type TestContext, test } from "node:test";
import { AGENTS } from "@countersign/agents";
import { fileOwner } from "@countersign/testing/child";
import { requireCodingAgent } from "@countersign/testing/coding-agents";
import { trustState } from "../src/codex/trust.ts";
import {
  addMember,
  findings,
  type InstallScene,
  newHome,
  startInstallScene,
  withProgram,
} from "./support/agent-home.ts";

const file = fileOwner();
let scene: InstallScene;

before(async () => {
  scene = await startInstallScene(file);
});

test("[ours.adapters.doctor.trial] the real Claude Code loads the hook, and not from settings that it ignores", async (t) => {
  const home = newHome(t, "{}");
  await scene.install(t, home, "claude-code", "--wait", "2s");
  const env = withProgram(t, "claude", requireCodingAgent("claude-code"));
  const good = await findings(t, home, "claude-code", env);
  assert.deepEqual([good.failed, good.all["agent.blocked"]?.level], [[], "ok"]);
  addMember(home, '"permissions": {"defaultMode": "nope"}');
  const bad = await findings(t, home, "claude-code", env);
  assert.deepEqual(bad.failed, ["agent.blocked"]);
  assert.match(bad.all["agent.blocked"]?.text ?? "", /settings did not load/);
});

test("[ours.adapters.codex.trust] the real Codex runs calls until install records the trust", async (t) => {
  const codex = requireCodingAgent("codex");
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

/** Agents for which the same test is enough. */
const OTHERS = ["cline", "copilot", "gemini-cli", "hermes", "kimi", "openclaw", "opencode", "pi"];

interface LastStep {
  /** The finding without it. */
  readonly missing: string;
  complete(settings: string): void;
}

/** The step after install that the user must do. */
const LAST_STEPS: Readonly<Record<string, LastStep>> = {
  hermes: {
    missing: "settings.consent",
    complete: (settings) => {
      writeFileSync(settings, `${readFileSync(settings, "utf8")}hooks_auto_accept: true\n`);
    },
  },
  openclaw: {
    missing: "settings.disabled",
    complete: (settings) => {
      const plugins = { load: { paths: [settings] }, entries: { countersign: { enabled: true } } };
      writeFileSync(join(dirname(settings), "openclaw.json"), JSON.stringify({ plugins }));
    },
  },
};

for (const agent of AGENTS) {
  if (!OTHERS.includes(agent.name)) continue;
  test(`[ours.adapters.doctor.trial] the real ${agent.title} loads the hook, and runs calls without it`, async (t) => {
    const home = newHome(t);
    await scene.install(t, home, agent.name, "--wait", "2s");
    const env = withProgram(t, agent.program ?? "", requireCodingAgent(agent.name));
    const settings = agent.settings.file({}).replace(homedir(), home.path);
    const text = readFileSync(settings, "utf8");
    const examine = () => findings(t, home, agent.name, env);
    const last = LAST_STEPS[agent.name];
    if (last !== undefined) {
      assert.deepEqual((await examine()).failed, [last.missing, "agent.blocked"]);
      last.complete(settings);
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
