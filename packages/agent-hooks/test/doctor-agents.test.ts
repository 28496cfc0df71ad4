// Tier: slow
/** doctor starts the agent itself for a trial: here a stand-in for the agent. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import {
  addMember,
  findings,
  type InstallScene,
  newHome,
  run,
  startInstallScene,
  withProgram,
} from "./support/agent-home.ts";

const file = fileOwner();
let scene: InstallScene;

before(async () => {
  scene = await startInstallScene(file);
});

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
