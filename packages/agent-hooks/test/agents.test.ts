/**
 * Every supported agent: install into an empty home, calls with recorded inputs, uninstall.
 */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { before, type TestContext, test } from "node:test";
import { AGENTS, type Agent, readHookInput, SILENT } from "@countersign/agents";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner } from "@countersign/testing/child";
import { findHooks } from "../src/install/agent-settings.ts";
import { findings, type Home, newHome, run } from "./support/agent-home.ts";
import { assertDenied, CALLS, existingSettings, newInput } from "./support/agent-story.ts";
import { feed, hooksBelow, recorded } from "./support/hook-scene.ts";

const file = fileOwner();
let scene: AgentScene;

before(async () => {
  scene = await startAgentScene(file, { settings: { extensions: "server" } });
});

test("[ours.adapters.agents.input] a recorded input of an agent describes the call", () => {
  for (const agent of AGENTS) {
    const inputs = Object.entries(CALLS[agent.name] ?? {});
    assert.ok(inputs.length > 0, agent.name);
    for (const [name, expected] of inputs) {
      const { tool, server, context } = readHookInput(Buffer.from(recorded(name)), agent);
      assert.deepEqual({ tool, server }, expected, name);
      assert.equal(context.members.get("runtime"), agent.name);
      assert.equal(typeof context.members.get("session_id"), "string", name);
    }
  }
});

for (const agent of AGENTS) {
  const { name } = agent;

  test(`[ours.adapters.agents.install] ${name}: uninstall restores an empty home and existing settings`, async (t) => {
    const home = newHome(t);
    const { settings } = await install(t, home, agent);
    assert.ok(existsSync(settings));
    await assertProven(t, home, agent);
    await uninstall(t, home, agent);
    assert.equal(existsSync(settings), false);
    const existing = existingSettings(agent);
    if (existing === undefined) return;
    writeFileSync(settings, existing);
    await install(t, home, agent);
    await uninstall(t, home, agent);
    assert.equal(readFileSync(settings, "utf8"), existing);
    assert.deepEqual(readdirSync(dirname(settings)), [basename(settings)]);
  });

  test(`[ours.adapters.agents.story] ${name}: only an approval of this call is an approval`, async (t) => {
    const home = newHome(t);
    const { command } = await install(t, home, agent);
    const { output } = agent.events[0];
    const start = (words = command) =>
      feed(t, home.path, ["/bin/sh", "-c", words], { input: newInput(agent) });

    const approved = start().ends();
    await scene.decideNext("approve");
    const expected = output.approved === SILENT ? "" : `${output.approved}\n`;
    const { code, stdout } = await approved;
    assert.deepEqual([code, stdout], [0, expected]);

    const denied = start().ends();
    await scene.decideNext("deny", { note: "Not today." });
    assertDenied(agent, await denied, /Not today\./);

    const killed = start();
    await scene.nextPending();
    for (const pid of hooksBelow(killed.pid)) process.kill(pid, "SIGKILL");
    assertDenied(agent, await killed.ends(), /The approval hook failed|the hook failed/);
    await scene.decideNext("deny");

    const missing = start(command.replace(process.execPath, "/gone"));
    assertDenied(agent, await missing.ends(), /The approval hook failed|the hook failed/);
  });
}

/** Installs the hook, as a user does. */
async function install(t: TestContext, home: Home, agent: Agent) {
  const args = ["install", agent.name, "--url", scene.url, "--json"];
  const { code, stdout, stderr } = await run(t, home, args, { secret: scene.token });
  assert.equal(code, 0, stderr);
  const { settings } = JSON.parse(stdout) as { readonly settings: string };
  assert.ok(settings.startsWith(home.path), settings);
  const hooks = findHooks(agent, readFileSync(settings, "utf8"));
  assert.equal(hooks.own.length, agent.events.length);
  return { settings, command: String(hooks.own[0]?.value.command) };
}

/** Findings that the user resolves after install. */
const LEFT_TO_USER: Readonly<Record<string, readonly string[]>> = {
  // The user must disable interactive shells.
  codex: ["settings.tty"],
  // The user must consent to the hook.
  hermes: ["settings.consent"],
  // The user must add the plugin to the configuration.
  openclaw: ["settings.disabled"],
};

/** doctor submits a call through the installed command, and sees that it is denied. */
async function assertProven(t: TestContext, home: Home, { name }: Agent): Promise<void> {
  const examined = findings(t, home, name);
  await scene.decideNext("deny");
  const { failed, all } = await examined;
  assert.deepEqual(failed, LEFT_TO_USER[name] ?? []);
  assert.match(all["canary.asked"]?.text ?? "", /received the canary, and it is denied/);
}

async function uninstall(t: TestContext, home: Home, { name }: Agent): Promise<void> {
  const { code, stderr } = await run(t, home, ["uninstall", name]);
  assert.equal(code, 0, stderr);
}
