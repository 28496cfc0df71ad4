/**
 * doctor, as a user runs it in a home of their own.
 */

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { AGENTS } from "@countersign/agents";
import { fileOwner } from "@countersign/testing/child";
import { checkSettings } from "../src/doctor/check-settings.ts";
import { readProfile } from "../src/profile/profile.ts";
import {
  findings,
  type Home,
  type InstallScene,
  newHome,
  OWN_SETTINGS,
  run,
  startInstallScene,
} from "./support/agent-home.ts";
import { BIN } from "./support/hook-scene.ts";

const file = fileOwner();
let scene: InstallScene;

before(async () => {
  scene = await startInstallScene(file);
});

test("[ours.adapters.doctor.proves] the canary goes through what is installed and is denied", async (t) => {
  const home = newHome(t, OWN_SETTINGS);
  await scene.install(t, home);
  const { code, failed, all } = await findings(t, home);
  assert.deepEqual([code, failed], [0, []]);
  assert.match(all["canary.asked"]?.text ?? "", /received the canary, and it is denied/);
  assert.match(all["canary.blocked"]?.text ?? "", /is denied/);
  const { stdout } = await run(t, home, ["doctor"]);
  assert.match(stdout, /^Claude Code:\n {2}ok {4}\S/);
});

/** One thing that is wrong, and the check that must say so. */
const FAULTS: Readonly<Record<string, readonly [(home: Home) => void, string]>> = {
  "no hook": [(home) => writeFileSync(home.settings, OWN_SETTINGS), "settings"],
  "no settings": [(home) => rmSync(home.settings), "settings"],
  "settings that are not valid JSON": [(home) => writeFileSync(home.settings, "{"), "settings"],
  "a limit below the wait": [(home) => edit(home, /"timeout": \d+/, '"timeout": 60'), "timeout"],
  "a comment": [(home) => edit(home, "{", "// mine\n{"), "settings.ignored"],
  "a comma too many": [(home) => edit(home, /\}\s*$/, ",}"), "settings.ignored"],
  "a wrong type": [(home) => edit(home, "{", '{"model": 5,'), "settings.ignored"],
  "failing open": [(home) => edit(home, '"onFailure": "block"', '"x": 1'), "settings.onFailure"],
  "in the background": [(home) => edit(home, '"type"', '"async": true, "type"'), "settings.async"],
  "for one tool": [(home) => edit(home, '"hooks": [', '"matcher": "Bash", "hooks": ['), "matcher"],
  "turned off": [(home) => edit(home, "{", '{"disableAllHooks": true,'), "settings.disabled"],
  "a command that is gone": [(home) => edit(home, BIN, "/gone.js"), "canary.asked"],
  "a command that says yes": [(home) => edit(home, "d=$1;", "echo {}; exit 0;"), "blocked"],
  "a shell that fails": [(home) => edit(home, "c=$?;", "exit 1;"), "canary.garbled"],
  "no profile": [(home) => rmSync(home.profile), "profile"],
  "a profile that others read": [(home) => chmodSync(home.profile, 0o644), "profile"],
  "a profile with a fault": [(home) => editProfile(home, { wait: "soon" }), "profile"],
  "a wrong credential": [(home) => editProfile(home, { token: "cs_inst_wrong" }), "provider"],
  "a provider that is gone": [(home) => editProfile(home, { url: "http://[::1]:9" }), "provider"],
};

function edit({ settings }: Home, from: string | RegExp, to: string): void {
  const text = readFileSync(settings, "utf8");
  const changed = text.replace(from, to);
  assert.notEqual(changed, text);
  writeFileSync(settings, changed);
}

function editProfile({ profile }: Home, fields: object): void {
  const kept = JSON.parse(readFileSync(profile, "utf8"));
  writeFileSync(profile, JSON.stringify({ ...kept, ...fields }));
}

test("[ours.adapters.doctor.finds] every planted fault is found, with what to do", async (t) => {
  const faults = Object.entries(FAULTS);
  const look = async ([name, [plant, check]]: (typeof faults)[number]) => {
    const home = newHome(t);
    await scene.install(t, home, "claude-code", "--wait", "2s");
    plant(home);
    const { code, failed, all } = await findings(t, home);
    assert.equal(code, 1, name);
    const advice = Object.values(all).map((each) => each.advice ?? "");
    assert.doesNotMatch(advice.join(" "), /\bAGENT\b/, name);
    const isFound = failed.some((found) => found === check || found.endsWith(`.${check}`));
    assert.ok(isFound, `${name}: ${failed}`);
  };
  // A few at a time: each is half a dozen processes.
  for (let from = 0; from < faults.length; from += 3) {
    await Promise.all(faults.slice(from, from + 3).map(look));
  }
});

for (const { name } of AGENTS) {
  test(`[ours.adapters.doctor.finds] the advice for ${name} is a command with its name`, async (t) => {
    const home = newHome(t);
    const { all } = await findings(t, home, name);
    assert.equal(all.profile?.advice, `Run: countersign-agent-hooks install ${name} --url URL`);
    const npx = await findings(t, home, name, { npm_config_user_agent: "npm/11.0.0" });
    const install = `Run: npx @countersign/agent-hooks install ${name}`;
    assert.equal(npx.all.profile?.advice, `${install} --url URL`);
    assert.equal(npx.all.settings?.advice, install);
  });
}

test("[ours.adapters.doctor.finds] doctor without npx accepts the hook that npx installed", async (t) => {
  const home = newHome(t);
  const args = ["install", "claude-code", "--url", scene.server.url, "--wait", "2s"];
  const env = { npm_config_user_agent: "npm/11.0.0" };
  const { code, stderr } = await run(t, home, args, { secret: scene.credential, env });
  assert.equal(code, 0, stderr);
  const { failed, all } = await findings(t, home);
  assert.deepEqual([failed, all["settings.command"]], [[], undefined]);
});

test("[ours.adapters.doctor.finds] the environment, a second hook and other hooks are reported", async (t) => {
  const home = newHome(t);
  await scene.install(t, home, "claude-code", "--wait", "2s");
  const variables = await findings(t, home, "claude-code", { COUNTERSIGN_URL: "http://x" });
  assert.deepEqual(variables.failed, []);
  assert.match(variables.all.environment?.text ?? "", /ignores COUNTERSIGN_URL\./);
  const { url } = scene.server;
  const same = { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: scene.credential };
  assert.equal((await findings(t, home, "claude-code", same)).all.environment, undefined);

  const settings = JSON.parse(readFileSync(home.settings, "utf8"));
  settings.hooks.PreToolUse.push(settings.hooks.PreToolUse[0]);
  settings.hooks.PreToolUse.push({ hooks: [{ type: "command", command: "tidy" }] });
  writeFileSync(home.settings, JSON.stringify(settings));
  const { failed, all } = await findings(t, home);
  assert.ok(failed.includes("settings.twice"), String(failed));
  assert.equal(all["settings.others"]?.level, "warn");
});

test("[ours.adapters.doctor.finds] dangerous env and disableAllHooks fail in each settings file", async (t) => {
  const home = newHome(t);
  await scene.install(t, home, "claude-code", "--wait", "2s");
  const [project, local] = ["settings.json", "settings.local.json"].map((name) => {
    return join(home.path, "project/.claude", name);
  });
  assert.ok(project !== undefined && local !== undefined);
  mkdirSync(dirname(project), { recursive: true });
  const [agent] = AGENTS;
  assert.ok(agent !== undefined);
  const place = {
    agent,
    settings: home.settings,
    profile: home.profile,
    node: process.execPath,
    script: BIN,
    home: home.path,
    systemRoot: undefined,
    program: "countersign-agent-hooks",
  };
  const profile = readProfile(home.profile);
  const look = () => {
    const { findings } = checkSettings(place, profile, join(home.path, "project"), {});
    return findings.map(({ check, level, text }) => `${level} ${check} ${text}`);
  };
  const names = ["NODE_COMPILE_CACHE", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "OPENSSL_CONF"];
  for (const path of [home.settings, project, local]) {
    const before = existsSync(path) ? readFileSync(path, "utf8") : "{}";
    for (const name of [...names, "BASH_ENV", "ENV", "XDG_CACHE_HOME", "HOME", "PATH"]) {
      writeFileSync(
        path,
        JSON.stringify({ ...JSON.parse(before), env: { [name]: "x", FINE: "1" } }),
      );
      assert.ok(look().includes(`fail settings.env ${path} sets ${name} for hooks, ${REPLACES}`));
    }
    writeFileSync(path, JSON.stringify({ ...JSON.parse(before), disableAllHooks: true }));
    assert.ok(look().some((line) => line.startsWith(`fail settings.disabled ${path} `)));
    writeFileSync(path, before);
  }
  assert.ok(look().every((line) => line.startsWith("ok ")));
  rmSync(local);
  mkdirSync(local);
  assert.ok(look().some((line) => line.startsWith(`warn settings.unreadable ${local} `)));
});

const REPLACES = "which can replace what they run.";

test("[ours.adapters.doctor.finds] versions that fail open are reported, by the agent on the PATH", async (t) => {
  const home = newHome(t);
  await scene.install(t, home, "claude-code", "--wait", "2s");
  const bin = join(home.path, "bin");
  mkdirSync(bin);
  const levels: string[] = [];
  for (const version of ["2.1.294", "2.1.295", "3.0.0"]) {
    writeFileSync(join(bin, "claude"), `#!/bin/sh\necho "${version} (Claude Code)"\n`);
    chmodSync(join(bin, "claude"), 0o755);
    const { all } = await findings(t, home, "claude-code", { PATH: `${bin}:${process.env.PATH}` });
    levels.push(all.version?.level ?? "");
  }
  assert.deepEqual(levels, ["warn", "ok", "ok"]);
});

test("[ours.adapters.doctor.finds] Codex: not trusted, disabled, turned off", async (t) => {
  const home = newHome(t);
  await scene.install(t, home, "codex", "--wait", "2s", "--no-trust");
  const config = join(dirname(home.codex), "config.toml");
  const { failed } = await findings(t, home, "codex");
  assert.deepEqual(failed, ["settings.tty", "settings.trusted"]);
  await scene.install(t, home, "codex", "--wait", "2s");
  const record = readFileSync(config, "utf8");
  const trusted = `${record}\n[features]\nunified_exec_tty = false\n`;
  const failedWith = async (text: string) => {
    writeFileSync(config, text);
    return (await findings(t, home, "codex")).failed;
  };
  assert.deepEqual(await failedWith(trusted), []);
  const isDisabled = trusted.replace("trusted_hash", "enabled = false\ntrusted_hash");
  assert.deepEqual(await failedWith(isDisabled), ["settings.disabled"]);
  assert.deepEqual(await failedWith(`${trusted}hooks = false\n`), ["settings.disabled"]);
  assert.deepEqual(await failedWith(trusted.replace("= false", "= true")), ["settings.tty"]);
  assert.deepEqual(await failedWith("["), ["settings.config"]);
});
