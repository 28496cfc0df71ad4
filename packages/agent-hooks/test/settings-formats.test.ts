/** Settings files of TOML and YAML: only the hook is added, and nothing else changes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Agent, findAgent } from "@countersign/agents";
import { addHooks, findHooks, removeHooks } from "../src/install/agent-settings.ts";
import { hookCommand } from "../src/install/hook-command.ts";
import { UnusableSettings } from "../src/install/settings-handler.ts";

/** Files that can get the hook. */
const GOOD: Readonly<Record<string, readonly string[]>> = {
  kimi: [
    "",
    "# Only a comment\n",
    'model = "x"',
    '[[hooks]]\nevent = "PreToolUse"\ncommand = "true" # Mine\n',
    'a = 1\r\n[b]\r\nc = """\r\n[[hooks]]\r\n"""\r\n',
  ],
  hermes: [
    "",
    "# Only a comment\n",
    "model: x",
    "model:\n    default: x\nhooks: {}\n# End\n",
    "hooks:\n\nmodel: x\n",
    "hooks: {on_session_start: [{command: 'true'}]}\n",
    "hooks:\n  on_session_start:\n  - command: 'true'\n\n# About the model\nmodel: x\n",
    "hooks:\n    pre_tool_call:\n    -   command: 'true' # Mine\n        timeout: 5\n\nmodel: x\n",
    "hooks:\n  pre_tool_call: []\nmodel: x\n",
    "hooks:\n  pre_tool_call:\nmodel: x\n",
    "hooks:\r\n  pre_tool_call:\r\n    - command: 'true'\r\n",
    "hooks:\n  pre_tool_call:\n    - command: 'true'",
    "hooks:\n  pre_tool_call: [{command: 'true'}]\n",
  ],
};

/** Files that must stay as they are, with the reason. */
const BAD: Readonly<Record<string, readonly (readonly [text: string, reason: RegExp])[]>> = {
  kimi: [
    ["a = \n", /^line 1 is not valid TOML$/],
    ["hooks = 1\n", /^hooks is not a list of tables$/],
    ['hooks = [{event = "Stop", command = "true"}]\n', /^adding the hook would change other/],
  ],
  hermes: [
    ["a: [\n", /^line \d is not valid YAML$/],
    ["- a\n", /^it is not a map of settings$/],
    ["hooks: true\n", /^hooks is not a map$/],
    ["hooks:\n  pre_tool_call: {}\n", /^hooks.pre_tool_call is not a list$/],
    ["a: 1\na: 2\n", /^line 2 is not valid YAML$/],
    ["{a: 1}\n", /^adding the hook would change other settings$/],
  ],
};

for (const name of ["kimi", "hermes"]) {
  const agent = findAgent(name) as Agent;

  test(`[ours.adapters.agents.install] ${name}: the hook is the last entry, and removing it restores every byte`, () => {
    for (const text of GOOD[name] ?? []) {
      const added = add(agent, text);
      const { all, own } = findHooks(agent, added.text);
      assert.deepEqual([own.length, all.at(-1)], [1, own[0]], text);
      assert.equal(own[0]?.matcher, undefined);
      assert.equal(removeHooks(agent, added.text, added.inserted), text);
    }
  });

  test(`[ours.adapters.agents.install] ${name}: the hook is removed from a file that the agent rewrote`, () => {
    for (const text of GOOD[name] ?? []) {
      const added = add(agent, text);
      // The agent writes other quotation marks.
      const command = /command( = |: )("(?:[^"\\]|\\.)*countersign-hook(?:[^"\\]|\\.)*")/;
      const rewritten = added.text.replace(command, (_, between, json) => {
        const value = JSON.parse(json);
        return name === "kimi"
          ? `command${between}'''${value}'''`
          : `command${between}'${value.replaceAll("'", "''")}'`;
      });
      assert.equal(findHooks(agent, rewritten).own.length, 1, rewritten);
      const left = removeHooks(agent, rewritten, added.inserted) ?? "";
      const { all, own } = findHooks(agent, left);
      assert.deepEqual([all.length, own.length], [findHooks(agent, text).all.length, 0], left);
      for (const comment of text.match(/# .+/g) ?? []) assert.ok(left.includes(comment), left);
    }
  });

  test(`[ours.adapters.agents.install] ${name}: settings that cannot get the hook are rejected with the reason`, () => {
    for (const [text, reason] of BAD[name] ?? []) {
      assert.throws(
        () => add(agent, text),
        (error) => error instanceof UnusableSettings && reason.test(error.message),
        text,
      );
    }
  });
}

function add(agent: Agent, text: string) {
  const command = hookCommand({
    node: "/usr/bin/node",
    script: "/opt/it's here/main.js",
    agent: agent.name,
    denied: undefined,
    isPrompt: false,
    profile: "/srv/me/profile.json",
    home: "/srv/me",
    caFile: undefined,
    environment: true,
    program: "countersign",
  });
  return addHooks(agent, text, agent.events, { command, limitMs: 90_000, members: {} });
}
