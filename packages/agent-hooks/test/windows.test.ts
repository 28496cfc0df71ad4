/**
 * The hook on Windows: the text of the command and of the batch file, and the exit codes of the
 * hook that the batch file reads. No test here runs the batch file.
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AGENTS, type Agent, findAgent } from "@countersign/agents";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { findHooks } from "../src/install/agent-settings.ts";
import { isHookCommand } from "../src/install/hook-command.ts";
import {
  type EntryOptions,
  entryFor,
  type InstallPlace,
  install,
  launcherFor,
  uninstall,
} from "../src/install/install.ts";
import { launcherFile } from "../src/install/windows-launcher.ts";
import { callInput, recorded, runHook, startHookScene } from "./support/hook-scene.ts";

const OPTIONS: EntryOptions = {
  waitMs: 60_000,
  promptsOnly: false,
  environment: false,
  caFile: undefined,
};

function placeOf(name: string, fields: Partial<InstallPlace> = {}): InstallPlace {
  return {
    agent: agentOf(name),
    settings: "C:\\Users\\me\\settings.json",
    profile: `C:\\Users\\me\\adapters\\${name}.json`,
    node: "C:\\Program Files (x86)\\nodejs\\node.exe",
    script: "C:\\100% mine\\hook.js",
    home: "C:\\Users\\me",
    systemRoot: "C:\\Windows",
    program: "countersign",
    ...fields,
  };
}

function agentOf(name: string): Agent {
  const agent = findAgent(name);
  assert.ok(agent !== undefined);
  return agent;
}

test("[ours.adapters.hook.windows] the command contains no character that PowerShell or cmd.exe interprets", () => {
  for (const { name, windows } of AGENTS) {
    if (windows.kind === "refused") continue;
    const { command, members } = entryFor(placeOf(name), OPTIONS);
    const file = `C:\\Users\\me\\adapters\\${name}.countersign-hook.${name}.cmd`;
    assert.equal(command, `C:\\Windows\\System32\\cmd.exe /d /c ${file}`);
    assert.deepEqual(members, name === "claude-code" ? { shell: "powershell" } : {});
    assert.ok(isHookCommand(command, name));
    assert.ok(!isHookCommand(command, "other"));
  }
});

test("[ours.adapters.hook.windows] the batch file clears the environment, and prints a denial after every exit code except that of an answer", () => {
  const caFile = "C:\\ca.pem";
  const text = launcherFor(placeOf("codex"), { ...OPTIONS, caFile });
  const reason =
    "Countersign: The approval hook failed. The call did not run. Run: countersign doctor codex";
  const denial = JSON.stringify({
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: reason,
    },
  });
  const loading = "NODE_OPTIONS NODE_COMPILE_CACHE NODE_EXTRA_CA_CERTS OPENSSL_CONF SSL_CERT_FILE";
  const node = '"C:\\Program Files (x86)\\nodejs\\node.exe" "C:\\100%% mine\\hook.js"';
  const profile = '"--profile" "C:\\Users\\me\\adapters\\codex.json"';
  const lines = [
    "@echo off",
    "rem Written by Countersign. Remove it with: countersign uninstall codex",
    "setlocal EnableExtensions DisableDelayedExpansion",
    'set "ComSpec=C:\\Windows\\System32\\cmd.exe"',
    `for %%v in (${loading}) do set "%%v="`,
    `for /f "delims==" %%v in ('set') do set "%%v="`,
    'set "SystemRoot=C:\\Windows"',
    'set "USERPROFILE=C:\\Users\\me"',
    'set "PATH=C:\\Windows\\System32"',
    'set "NODE_EXTRA_CA_CERTS=C:\\ca.pem"',
    "(",
    `  ${node} "hook" "codex" ${profile} "--launched"`,
    "  if errorlevel 100 if not errorlevel 101 exit /b 0",
    `  echo ${denial}`,
    "  exit /b 0",
    ")",
    "",
  ];
  assert.equal(text, lines.join("\r\n"));
});

test("[ours.adapters.hook.windows] the denial contains no operator of cmd.exe, for every agent", () => {
  for (const { name, windows, promptEvent } of AGENTS) {
    if (windows.kind === "refused") continue;
    for (const promptsOnly of promptEvent === undefined ? [false] : [false, true]) {
      const text = launcherFor(placeOf(name), { ...OPTIONS, promptsOnly }) ?? "";
      const [, denial = ""] = /^ {2}echo (.+)\r$/m.exec(text) ?? [];
      assert.match(denial, /The call did not run/);
      assert.doesNotMatch(denial, /[&|<>^%()]/);
    }
  }
});

test("[ours.adapters.hook.windows] install rejects an agent or a path that is not safe on Windows", () => {
  const refused: readonly (readonly [string, Partial<InstallPlace>, RegExp])[] = [
    ["windsurf", {}, /Windsurf cannot be installed on Windows: it blocks only .+ Run it in WSL\./],
    ["hermes", {}, /Hermes Agent cannot be installed on Windows/],
    ["goose", {}, /goose cannot be installed on Windows/],
    ["codex", { profile: "C:\\Users\\A B\\codex.json" }, /contains a space .+ dir \/x/],
    ["codex", { profile: "C:\\Users\\A&B\\codex.json" }, /special character/],
    ["codex", { profile: "\\\\server\\me\\codex.json" }, /special character/],
    ["codex", { script: "C:\\Users\\José\\hook.js" }, /outside ASCII/],
    ["codex", { node: 'C:\\"\\node.exe' }, /outside ASCII/],
  ];
  for (const [name, fields, reason] of refused) {
    assert.throws(() => launcherFor(placeOf(name, fields), OPTIONS), reason);
  }
  const environment = { ...OPTIONS, environment: true };
  assert.throws(() => launcherFor(placeOf("codex"), environment), /--environment is not possible/);
  const short = { profile: "C:\\Users\\JOSEAL~1\\codex.json" };
  assert.ok(launcherFor(placeOf("codex", short), OPTIONS));
  assert.equal(launcherFor(placeOf("windsurf", { systemRoot: undefined }), OPTIONS), undefined);
});

test("[ours.adapters.hook.windows] a refused install writes nothing, and uninstall removes the batch file", (t) => {
  const folder = temporaryFolder(t);
  const wanted = {
    ...OPTIONS,
    url: "http://localhost:1",
    token: "t",
    leave: [],
    keepPrompts: false,
    localPrompt: false,
    uses: join(folder, "uses"),
  };
  const settings = join(folder, "hooks.json");
  const place = placeOf("codex", { settings, profile: join(folder, "codex.json") });
  assert.throws(() => install(place, wanted), /special character/);
  assert.ok(!existsSync(settings) && !existsSync(place.profile));
  // On this system, a path of Windows is the name of a file in the current folder.
  const here = process.cwd();
  process.chdir(folder);
  t.after(() => process.chdir(here));
  const windows = placeOf("codex", { settings });
  const launcher = launcherFile(windows.profile, "codex");
  install(windows, wanted);
  assert.equal(readFileSync(launcher, "utf8"), launcherFor(windows, OPTIONS));
  assert.equal(findHooks(windows.agent, readFileSync(settings, "utf8")).own.length, 1);
  uninstall(windows.agent, windows.profile, settings);
  assert.ok(!existsSync(launcher) && !existsSync(settings));
});

const file = fileOwner();

test("[ours.adapters.hook.windows] the hook exits with 100 after an answer, and prints the denial of an agent that reads exit code 2 elsewhere", async (t) => {
  const { home, environment: env, decideNext } = await startHookScene(file);
  const args = ["--launched"];
  const approved = runHook(t, home, { agent: "codex", input: callInput(), env, args });
  await decideNext("approve");
  assert.deepEqual(await approved, { code: 100, stdout: "{}\n", stderr: "" });
  const denied = runHook(t, home, { agent: "codex", input: callInput(), env, args });
  await decideNext("deny", { note: "No." });
  const { code, stdout, stderr } = await denied;
  assert.deepEqual([code, stderr], [100, ""]);
  assert.equal(JSON.parse(stdout).hookSpecificOutput.permissionDecision, "deny");
  const invalid = await runHook(t, home, { agent: "codex", input: "{}", env: {}, args });
  assert.equal(invalid.code, 100);
  assert.match(invalid.stdout, /"permissionDecision":"deny"/);
});

test("[ours.adapters.hook.windows] the hook accepts a byte order mark before the input of Cursor", async (t) => {
  const { home, environment: env, decideNext } = await startHookScene(file);
  const input = `\uFEFF${recorded("cursor-documented")}`;
  const hook = runHook(t, home, { agent: "cursor", input, env });
  await decideNext("approve");
  assert.deepEqual(JSON.parse((await hook).stdout), { permission: "allow" });
});
