/** The recorded calls of every agent, and what the tests of all agents share. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "@countersign/agents";
import type { Outcome } from "@countersign/testing/child";
import { findHooks } from "../../src/install/agent-settings.ts";
import { type InstallPlace, install } from "../../src/install/install.ts";
import type { Profile } from "../../src/profile/profile.ts";
import { BIN, recorded } from "./hook-scene.ts";

/** The call that each recorded input describes. */
export const CALLS: Readonly<Record<string, { readonly [input: string]: object }>> = {
  "claude-code": {
    "claude-code-observed": { tool: "Bash", server: undefined },
    "claude-code-subagent-mcp": { tool: "create_entities", server: "memory" },
  },
  cline: {
    "cline-observed": { tool: "run_commands", server: undefined },
  },
  codex: {
    "codex-bash": { tool: "Bash", server: undefined },
  },
  copilot: {
    "copilot-cli-observed": { tool: "Bash", server: undefined },
    "copilot-vscode-documented": { tool: "runInTerminal", server: undefined },
  },
  cursor: {
    "cursor-documented": { tool: "Write", server: undefined },
  },
  "gemini-cli": {
    "gemini-cli-observed": { tool: "run_shell_command", server: undefined },
    "gemini-cli-documented": { tool: "create_issue", server: "github" },
  },
  goose: {
    "goose-documented": { tool: "shell", server: "developer" },
  },
  hermes: {
    "hermes-observed": { tool: "terminal", server: undefined },
  },
  kimi: {
    "kimi-observed": { tool: "Bash", server: undefined },
  },
  openclaw: {
    "openclaw-plugin": { tool: "exec", server: undefined },
  },
  opencode: {
    "opencode-plugin": { tool: "bash", server: undefined },
  },
  pi: {
    "pi-extension": { tool: "bash", server: undefined },
  },
  windsurf: {
    "windsurf-command-documented": { tool: "run_command", server: undefined },
    "windsurf-mcp-documented": { tool: "create_issue", server: "github" },
  },
};

/** Settings of the user without the hook. Undefined: only the hook uses the file. */
export function existingSettings({ settings }: Agent): string | undefined {
  switch (settings.kind) {
    case "json":
      return `${JSON.stringify({ ...settings.head, hooks: {} }, null, 3)}\n\n`;
    case "toml":
      return '# Mine\nmodel = "x"\n\n[[hooks]]\nevent = "Stop"\ncommand = "true"\n';
    case "yaml":
      return "# Mine\nmodel:\n    default: x\nhooks: {}\n\n# End\n";
    case "own-file":
      return undefined;
  }
}

/** The first recorded input of the agent, with new ids where it has some. */
export function newInput({ name }: Agent): string {
  const [input = ""] = Object.keys(CALLS[name] ?? {});
  const {
    tool_use_id: id,
    tool_call_id: other,
    tool_call: call,
    extra,
    ...members
  } = JSON.parse(recorded(input));
  if (id !== undefined) members.tool_use_id = randomUUID();
  if (other !== undefined) members.tool_call_id = randomUUID();
  if (call !== undefined) members.tool_call = { ...call, id: randomUUID() };
  if (extra !== undefined) members.extra = { ...extra, tool_call_id: randomUUID() };
  return JSON.stringify(members);
}

/** The agent blocks the call, and the model reads the reason. */
export function assertDenied({ name, events }: Agent, outcome: Outcome, reason: RegExp): void {
  const { code, stdout, stderr } = outcome;
  const [{ output }] = events;
  if (output.denied === undefined) {
    assert.deepEqual([code, stdout], [2, ""], name);
    assert.match(stderr, reason, name);
    return;
  }
  assert.equal(code, 0, name);
  assert.match(stdout, reason, name);
  // The members of a denial, with any reason.
  const members = (text: string) => Object.keys(JSON.parse(text)).sort();
  assert.deepEqual(members(stdout), members(output.denied("")), name);
  assert.doesNotMatch(stdout, /"allow"/, name);
}

/** The files of the hook in a folder of its own for this agent. */
export function placeIn(folder: string, agent: Agent): InstallPlace {
  const home = join(folder, agent.name);
  return {
    agent,
    settings: join(home, "settings", "file"),
    profile: join(home, "adapters", `${agent.name}.json`),
    node: process.execPath,
    script: BIN,
    program: "countersign-agent-hooks",
    home,
    systemRoot: undefined,
  };
}

/** Installs the hook without a command line. @returns its command */
export function installAt(
  place: InstallPlace,
  options: Pick<Profile, "url" | "token" | "waitMs">,
): string {
  const profile = {
    ...options,
    leave: [],
    keepPrompts: false,
    promptsOnly: false,
    localPrompt: false,
    environment: false,
    uses: join(place.home, "uses"),
  };
  install(place, profile, place.agent.name === "codex" ? place.settings : undefined);
  const [hook] = findHooks(place.agent, readFileSync(place.settings, "utf8")).own;
  return String(hook?.value.command);
}
