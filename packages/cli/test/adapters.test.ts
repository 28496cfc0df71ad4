/**
 * install, uninstall, status and doctor, as a user runs them in a home of their own.
 */

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { AGENTS, type Finding, lookAtSettings, readProfile } from "@countersign/adapters";
import { Child, fileOwner, type Outcome, temporaryFolder } from "./support/child.ts";
import {
  BIN,
  countersign,
  ownEnvironment,
  type Server,
  startServer,
} from "./support/countersign.ts";
import { exchange, makeToken, newAgent } from "./support/people.ts";

const POLICY = `version: 1
rules:
  - id: canary
    match: { tool: countersign_canary }
    then: deny
    note: Seen.
`;

const file = fileOwner();
let server: Server;
let provisioner: string;
let credential: string;

before(async () => {
  server = await startServer(file);
  provisioner = await makeToken(server.data, { kind: "provisioner", name: "installer" });
  credential = (await newAgent(server)).token;
  const editor = await makeToken(server.data, { kind: "reviewer", name: "ed", role: "editor" });
  const policy = join(temporaryFolder(file), "policy.yaml");
  writeFileSync(policy, POLICY);
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: editor };
  const published = await countersign(file, ["policy", "publish", policy, "--yes"], { env });
  assert.equal(published.code, 0, published.stderr);
});

interface Home {
  readonly path: string;
  readonly settings: string;
  readonly profile: string;
  readonly codex: string;
}

function newHome(t: TestContext, settings?: string): Home {
  const path = temporaryFolder(t, "countersign home ");
  const home = {
    path,
    settings: join(path, ".claude/settings.json"),
    profile: join(path, ".config/countersign/adapters/claude-code.json"),
    codex: join(path, ".codex/hooks.json"),
  };
  for (const name of [home.settings, home.codex]) mkdirSync(dirname(name));
  if (settings !== undefined) writeFileSync(home.settings, settings, { mode: 0o644 });
  return home;
}

/** Runs a command in that home; a secret goes to its stdin. */
function run(
  t: TestContext,
  home: Home,
  args: readonly string[],
  { secret = "", env = {} }: { secret?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Outcome> {
  const entries = Object.entries(ownEnvironment());
  const kept = entries.filter(([name]) => !/^(XDG_|CLAUDE|CODEX)/.test(name));
  const all = { ...Object.fromEntries(kept), HOME: home.path, SHELL: "/bin/sh", ...env };
  // A builtin: the secret is in no arguments here either.
  const shell = ["/bin/sh", "-c", 'printf "%s\\n" "$SECRET" | "$@"', "sh", process.execPath, BIN];
  return new Child(t, [...shell, ...args], {
    env: { ...all, SECRET: secret },
    cwd: home.path,
  }).ends();
}

async function install(t: TestContext, home: Home, agent = "claude-code", ...more: string[]) {
  const args = ["install", agent, "--url", server.url, ...more];
  const outcome = await run(t, home, args, { secret: credential });
  assert.equal(outcome.code, 0, outcome.stderr);
  assert.ok(!`${outcome.stdout}${outcome.stderr}`.includes(credential));
  return outcome;
}

async function findings(
  t: TestContext,
  home: Home,
  agent = "claude-code",
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; failed: string[]; all: Readonly<Record<string, Finding>> }> {
  const { code, stdout, stderr } = await run(t, home, ["doctor", agent, "--json"], { env });
  assert.equal(stderr, "");
  const [result] = JSON.parse(stdout) as { findings: Finding[] }[];
  const all = Object.fromEntries((result?.findings ?? []).map((each) => [each.check, each]));
  const failed = Object.values(all).filter(({ level }) => level === "fail");
  for (const { advice, check } of failed) assert.ok(advice || check === "environment", check);
  return { code, failed: failed.map(({ check }) => check), all };
}

const OWN = '{\n\t"model": "opus", // mine\n\t"env": {"N": 1.0}\n}\n';

test("[ours.adapters.install.reversible] uninstall gives the settings back letter for letter", async (t) => {
  const home = newHome(t, OWN);
  await install(t, home);
  assert.notEqual(readFileSync(home.settings, "utf8"), OWN);
  assert.equal(statSync(home.settings).mode & 0o777, 0o644);
  assert.equal(statSync(home.profile).mode & 0o777, 0o600);
  assert.equal(statSync(dirname(home.profile)).mode & 0o777, 0o700);
  assert.ok(!readFileSync(home.settings, "utf8").includes(credential));
  const { code, stderr } = await run(t, home, ["uninstall", "claude-code"]);
  assert.equal(code, 0);
  assert.match(stderr, /The credential is still good/);
  assert.equal(readFileSync(home.settings, "utf8"), OWN);
  assert.equal(existsSync(home.profile), false);
  assert.deepEqual(readdirSync(dirname(home.settings)), ["settings.json"]);
});

test("[ours.adapters.install.reversible] a file that install made is gone after uninstall", async (t) => {
  const home = newHome(t);
  for (const agent of ["claude-code", "codex"]) await install(t, home, agent);
  assert.ok(existsSync(home.settings) && existsSync(home.codex));
  for (const agent of ["claude-code", "codex"]) await run(t, home, ["uninstall", agent]);
  assert.deepEqual([existsSync(home.settings), existsSync(home.codex)], [false, false]);
});

test("[ours.adapters.install.reversible] what others wrote meanwhile stays", async (t) => {
  const home = newHome(t, OWN);
  await install(t, home);
  const text = readFileSync(home.settings, "utf8");
  writeFileSync(home.settings, text.replace('"opus"', '"haiku"'));
  await run(t, home, ["uninstall", "claude-code"]);
  assert.equal(readFileSync(home.settings, "utf8"), OWN.replace('"opus"', '"haiku"'));
});

test("[ours.adapters.install.again] installing again changes nothing but what is said anew", async (t) => {
  const home = newHome(t, OWN);
  await install(t, home, "claude-code", "--leave", "Read,Glob");
  const first = readFileSync(home.settings, "utf8");
  const again = await run(t, home, ["install", "claude-code"]);
  assert.match(again.stdout, /asks already/);
  assert.equal(readFileSync(home.settings, "utf8"), first);
  const changed = await run(t, home, ["install", "claude-code", "--wait", "10m", "--json"]);
  assert.equal(JSON.parse(changed.stdout).changed, true);
  const { wait, leave, token } = JSON.parse(readFileSync(home.profile, "utf8"));
  assert.deepEqual([wait, leave, token], ["10m", ["Read", "Glob"], credential]);
  assert.match(readFileSync(home.settings, "utf8"), /"timeout": 690,/);
  await run(t, home, ["uninstall", "claude-code"]);
  assert.equal(readFileSync(home.settings, "utf8"), OWN);
});

test("[ours.adapters.install.reversible] a symbolic link stays one", async (t) => {
  const home = newHome(t, OWN);
  const real = join(home.path, "dotfiles.json");
  renameSync(home.settings, real);
  symlinkSync(real, home.settings);
  await install(t, home);
  assert.ok(lstatSync(home.settings).isSymbolicLink());
  assert.match(readFileSync(real, "utf8"), /countersign-hook/);
  await run(t, home, ["uninstall", "claude-code"]);
  assert.equal(readFileSync(real, "utf8"), OWN);
});

test("[ours.adapters.install.again] where hooks are turned off, install does not say that anybody asks", async (t) => {
  const { stdout } = await install(t, newHome(t, '{ "disableAllHooks": true }'));
  assert.match(stdout, /does NOT ask .+\n.+ has disableAllHooks, so nothing is asked/);
  const home = newHome(t);
  writeFileSync(join(home.path, ".codex/config.toml"), "[features]\nhooks = false\n");
  assert.match((await install(t, home, "codex")).stdout, /does NOT ask .+\n.+ turns hooks off/);
});

test("[ours.adapters.install.refused] what cannot be read is left as it is, and nothing is made", async (t) => {
  for (const text of ['{"hooks": [}', '{"hooks": {}, "hooks": {}}']) {
    const home = newHome(t, text);
    const args = ["install", "claude-code", "--url", server.url];
    const { code, stderr } = await run(t, home, args, { secret: credential });
    assert.equal(code, 1);
    assert.match(stderr, /is left as it is/);
    assert.equal(readFileSync(home.settings, "utf8"), text);
    assert.equal(existsSync(home.profile), false);
  }
});

test("[ours.adapters.install.refused] a credential that cannot ask is not installed", async (t) => {
  const home = newHome(t, OWN);
  const args = (url: string) => ["install", "claude-code", "--url", url];
  const wrong = await run(t, home, args(server.url), { secret: "wrong" });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /nothing was installed/);
  const kind = await run(t, home, args(server.url), { secret: provisioner });
  assert.match(kind.stderr, /nothing was installed: .+ other kind of token/);
  const plain = await run(t, home, args("http://provider.example"), { secret: credential });
  assert.match(plain.stderr, /not https/);
  const empty = await run(t, home, args(server.url));
  assert.equal(empty.code, 2);
  assert.equal(readFileSync(home.settings, "utf8"), OWN);
  assert.equal(existsSync(home.profile), false);
});

test("[ours.adapters.install.provisions] with a provisioner's token it makes an instance, and deletes it", async (t) => {
  const home = newHome(t);
  const args = ["install", "codex", "--url", server.url, "--provision", "--name", "my laptop"];
  const made = await run(t, home, args, { secret: provisioner });
  assert.equal(made.code, 0, made.stderr);
  const profile = join(dirname(home.profile), "codex.json");
  const { instance_id, token } = JSON.parse(readFileSync(profile, "utf8"));
  assert.notEqual(token, provisioner);
  const url = `${server.url}/v1/instances/${instance_id}`;
  assert.equal((await exchange<{ name: string }>("GET", url, provisioner)).json.name, "my laptop");
  const gone = await run(t, home, ["uninstall", "codex", "--delete-instance"], {
    secret: provisioner,
  });
  assert.equal(gone.code, 0, gone.stderr);
  assert.equal((await exchange("GET", url, provisioner)).status, 404);
});

test("[ours.adapters.status] status says who asks whom", async (t) => {
  const home = newHome(t, OWN);
  await install(t, home);
  writeFileSync(home.codex, "{");
  const { stdout } = await run(t, home, ["status", "--json"]);
  const rows = JSON.parse(stdout) as { agent: string; state: string; url?: string }[];
  assert.deepEqual(
    rows.map(({ agent, state, url }) => [agent, state, url]),
    [
      ["claude-code", "installed", server.url],
      ["codex", "unreadable", undefined],
    ],
  );
  assert.match((await run(t, home, ["status"])).stdout, /^claude-code\s+installed\s+http/m);
});

test("[ours.adapters.doctor.proves] the canary goes through what is installed and is denied", async (t) => {
  const home = newHome(t, OWN);
  await install(t, home);
  const { code, failed, all } = await findings(t, home);
  assert.deepEqual([code, failed], [0, []]);
  assert.match(all["canary.asked"]?.text ?? "", /the canary is denied/);
  assert.match(all["canary.blocked"]?.text ?? "", /is denied/);
  const { stdout } = await run(t, home, ["doctor"]);
  assert.match(stdout, /^Claude Code:\n {2}ok {4}\S/);
});

/** One thing that is wrong, and the check that must say so. */
const FAULTS: Readonly<Record<string, readonly [(home: Home) => void, string]>> = {
  "no hook": [(home) => writeFileSync(home.settings, OWN), "settings"],
  "no settings": [(home) => rmSync(home.settings), "settings"],
  "settings that nobody can read": [(home) => writeFileSync(home.settings, "{"), "settings"],
  "a limit below the wait": [(home) => edit(home, /"timeout": \d+/, '"timeout": 60'), "timeout"],
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
    await install(t, home, "claude-code", "--wait", "2s");
    plant(home);
    const { code, failed } = await findings(t, home);
    assert.equal(code, 1, name);
    const isFound = failed.some((found) => found === check || found.endsWith(`.${check}`));
    assert.ok(isFound, `${name}: ${failed}`);
  };
  // A few at a time: each is half a dozen processes.
  for (let from = 0; from < faults.length; from += 3) {
    await Promise.all(faults.slice(from, from + 3).map(look));
  }
});

test("[ours.adapters.doctor.finds] the environment, a second hook and other people's are told", async (t) => {
  const home = newHome(t);
  await install(t, home, "claude-code", "--wait", "2s");
  const variables = await findings(t, home, "claude-code", { COUNTERSIGN_ADAPTER_URL: "http://x" });
  assert.deepEqual(variables.failed, []);
  assert.match(variables.all.environment?.text ?? "", /ignores COUNTERSIGN_ADAPTER_URL/);

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
  await install(t, home, "claude-code", "--wait", "2s");
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
  };
  const profile = readProfile(home.profile);
  const look = () => {
    const { findings } = lookAtSettings(place, profile, join(home.path, "project"));
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

test("[ours.adapters.doctor.finds] versions that fail open are told, by the agent on the PATH", async (t) => {
  const home = newHome(t);
  await install(t, home, "claude-code", "--wait", "2s");
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
  await install(t, home, "codex", "--wait", "2s");
  const config = join(dirname(home.codex), "config.toml");
  const state = (fields: string) => {
    writeFileSync(config, `[hooks.state."${home.codex}:pre_tool_use:0:0"]\n${fields}\n`);
  };
  assert.deepEqual((await findings(t, home, "codex")).failed, ["settings.trusted"]);
  state('trusted_hash = "sha256:x"');
  assert.deepEqual((await findings(t, home, "codex")).failed, []);
  state('trusted_hash = "sha256:x"\nenabled = false');
  assert.deepEqual((await findings(t, home, "codex")).failed, ["settings.disabled"]);
  state('trusted_hash = "sha256:x"\n[features]\nhooks = false');
  assert.deepEqual((await findings(t, home, "codex")).failed, ["settings.disabled"]);
  writeFileSync(config, "[");
  assert.deepEqual((await findings(t, home, "codex")).failed, ["settings.config"]);
});
