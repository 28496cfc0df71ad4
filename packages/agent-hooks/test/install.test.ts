/**
 * install, uninstall and status, as a user runs them in a home of their own.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { exchange, makeToken } from "@countersign/testing/agents";
import { fileOwner } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import {
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

test("[ours.adapters.install.reversible] uninstall restores the exact text of the settings", async (t) => {
  const home = newHome(t, OWN_SETTINGS);
  await scene.install(t, home);
  assert.notEqual(readFileSync(home.settings, "utf8"), OWN_SETTINGS);
  assert.equal(statSync(home.settings).mode & 0o777, 0o644);
  assert.equal(statSync(home.profile).mode & 0o777, 0o600);
  assert.equal(statSync(dirname(home.profile)).mode & 0o777, 0o700);
  assert.ok(!readFileSync(home.settings, "utf8").includes(scene.credential));
  const { code, stderr } = await run(t, home, ["uninstall", "claude-code"]);
  assert.equal(code, 0);
  assert.match(stderr, /The credential is still valid/);
  assert.equal(readFileSync(home.settings, "utf8"), OWN_SETTINGS);
  assert.equal(existsSync(home.profile), false);
  assert.deepEqual(readdirSync(dirname(home.settings)), ["settings.json"]);
});

test("[ours.adapters.install.reversible] a file that install made is gone after uninstall", async (t) => {
  const home = newHome(t);
  for (const agent of ["claude-code", "codex"]) await scene.install(t, home, agent);
  assert.ok(existsSync(home.settings) && existsSync(home.codex));
  for (const agent of ["claude-code", "codex"]) await run(t, home, ["uninstall", agent]);
  assert.deepEqual([existsSync(home.settings), existsSync(home.codex)], [false, false]);
});

test("[ours.adapters.install.reversible] uninstall keeps later changes by others", async (t) => {
  const home = newHome(t, OWN_SETTINGS);
  await scene.install(t, home);
  const text = readFileSync(home.settings, "utf8");
  writeFileSync(home.settings, text.replace('"opus"', '"haiku"'));
  await run(t, home, ["uninstall", "claude-code"]);
  assert.equal(readFileSync(home.settings, "utf8"), OWN_SETTINGS.replace('"opus"', '"haiku"'));
});

test("[ours.adapters.install.again] installing again changes only the options given again", async (t) => {
  const home = newHome(t, OWN_SETTINGS);
  await scene.install(t, home, "claude-code", "--leave", "Read,Glob");
  const first = readFileSync(home.settings, "utf8");
  const again = await run(t, home, ["install", "claude-code"]);
  assert.match(again.stdout, /^Hook already installed/);
  assert.equal(readFileSync(home.settings, "utf8"), first);
  const changed = await run(t, home, ["install", "claude-code", "--wait", "10m", "--json"]);
  assert.equal(JSON.parse(changed.stdout).changed, true);
  const { wait, leave, token } = JSON.parse(readFileSync(home.profile, "utf8"));
  assert.deepEqual([wait, leave, token], ["10m", ["Read", "Glob"], scene.credential]);
  assert.match(readFileSync(home.settings, "utf8"), /"timeout": 690,/);
  await run(t, home, ["uninstall", "claude-code"]);
  assert.equal(readFileSync(home.settings, "utf8"), OWN_SETTINGS);
});

test("[ours.adapters.install.reversible] a symbolic link stays one", async (t) => {
  const home = newHome(t, OWN_SETTINGS);
  const real = join(home.path, "dotfiles.json");
  renameSync(home.settings, real);
  symlinkSync(real, home.settings);
  await scene.install(t, home);
  assert.ok(lstatSync(home.settings).isSymbolicLink());
  assert.match(readFileSync(real, "utf8"), /countersign-hook/);
  await run(t, home, ["uninstall", "claude-code"]);
  assert.equal(readFileSync(real, "utf8"), OWN_SETTINGS);
});

test("[ours.adapters.install.again] install reports disabled hooks", async (t) => {
  const { stdout } = await scene.install(t, newHome(t, '{ "disableAllHooks": true }'));
  assert.match(stdout, /installed but DISABLED.+\n.+ sets disableAllHooks/);
  const home = newHome(t);
  writeFileSync(join(home.path, ".codex/config.toml"), "[features]\nhooks = false\n");
  assert.match(
    (await scene.install(t, home, "codex")).stdout,
    /installed but DISABLED.+\n.+ disables hooks/,
  );
});

test("[ours.adapters.install.refused] unreadable settings stay unchanged, and install creates nothing", async (t) => {
  const texts: Readonly<Record<string, RegExp>> = {
    '{"hooks": [}': /was not changed/,
    '{"hooks": {}, "hooks": {}}': /was not changed/,
    "// mine\n{}": /was not changed. Claude Code ignores the whole file: line 1 is not strict/,
    '{"model": 5}': /was not changed. Claude Code ignores the whole file: model must be of type/,
  };
  for (const [text, message] of Object.entries(texts)) {
    const home = newHome(t, text);
    const args = ["install", "claude-code", "--url", scene.server.url];
    const { code, stderr } = await run(t, home, args, { secret: scene.credential });
    assert.equal(code, 1);
    assert.match(stderr, message);
    assert.equal(readFileSync(home.settings, "utf8"), text);
    assert.equal(existsSync(home.profile), false);
  }
});

test("[ours.adapters.install.refused] a credential that cannot ask is not installed", async (t) => {
  const home = newHome(t, OWN_SETTINGS);
  const args = (url: string) => ["install", "claude-code", "--url", url];
  const wrong = await run(t, home, args(scene.server.url), { secret: "wrong" });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /nothing was installed/);
  const kind = await run(t, home, args(scene.server.url), { secret: scene.provisioner });
  assert.match(kind.stderr, /nothing was installed: .+ other kind of token/);
  const plain = await run(t, home, args("http://provider.example"), { secret: scene.credential });
  assert.match(plain.stderr, /Use https/);
  const empty = await run(t, home, args(scene.server.url));
  assert.equal(empty.code, 2);
  assert.equal(readFileSync(home.settings, "utf8"), OWN_SETTINGS);
  assert.equal(existsSync(home.profile), false);
});

test("[ours.adapters.install.provisions] with a provisioner token, install creates an instance, and uninstall deletes it", async (t) => {
  const home = newHome(t);
  const args = [
    "install",
    "codex",
    "--url",
    scene.server.url,
    "--provision",
    "--name",
    "my laptop",
  ];
  const made = await run(t, home, args, { secret: scene.provisioner });
  assert.equal(made.code, 0, made.stderr);
  const profile = join(dirname(home.profile), "codex.json");
  const { instance_id, token } = JSON.parse(readFileSync(profile, "utf8"));
  assert.notEqual(token, scene.provisioner);
  const url = `${scene.server.url}/v1/instances/${instance_id}`;
  assert.equal(
    (await exchange<{ name: string }>("GET", url, scene.provisioner)).json.name,
    "my laptop",
  );
  const gone = await run(t, home, ["uninstall", "codex", "--delete-instance"], {
    secret: scene.provisioner,
  });
  assert.equal(gone.code, 0, gone.stderr);
  assert.equal((await exchange("GET", url, scene.provisioner)).status, 404);
});

test("[ours.adapters.install.provisions] with a wrong --wait or unreadable settings, install creates no instance", async (t) => {
  const secret = scene.provisioner;
  const admin = await makeToken(scene.server.data, { kind: "reviewer", role: "admin" });
  const list = async () => {
    const { text } = await exchange("GET", `${scene.server.url}/review/v1/instances`, admin);
    return (JSON.parse(text) as { readonly instances: unknown[] }).instances.length;
  };
  const before = await list();
  const args = ["install", "claude-code", "--url", scene.server.url, "--provision"];
  const wait = await run(t, newHome(t), [...args, "--wait", "5"], { secret });
  assert.equal(wait.code, 2);
  const settings = await run(t, newHome(t, "{"), args, { secret });
  assert.equal(settings.code, 1);
  assert.match(settings.stderr, /was not changed: .+ Correct the file, and run this command again/);
  assert.equal(await list(), before);
});

test("[ours.adapters.install.provisions] a terminal does not show the token that the user types", async (t) => {
  const home = newHome(t);
  const secret = "cs_prov_typed_by_the_user";
  const words = [
    process.execPath,
    BIN,
    "install",
    "codex",
    "--url",
    "http://[::1]:9",
    "--provision",
  ];
  const env = { ...ownEnvironment(), HOME: home.path, SHELL: "/bin/sh" };
  // util-linux: runs the command on a pseudo-terminal.
  const child = spawn("script", ["-qec", words.join(" "), "/dev/null"], { env, cwd: home.path });
  t.after(() => child.kill("SIGKILL"));
  let shown = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    const isFirst = !shown.includes("token: ");
    shown += chunk;
    if (isFirst && shown.includes("token: ")) child.stdin.write(`${secret}\n`);
  }
  assert.match(shown, /the provisioner token: /);
  assert.ok(!shown.includes("typed"), shown);
});

test("[ours.adapters.install.provisions] install rejects --provision and --name where they have no effect", async (t) => {
  const home = newHome(t);
  await scene.install(t, home);
  const written = readFileSync(home.profile, "utf8");
  const kept = await run(t, home, ["install", "claude-code", "--provision"], {
    secret: scene.provisioner,
  });
  assert.deepEqual([kept.code, kept.stdout], [2, ""]);
  assert.match(
    kept.stderr,
    /--provision would keep .+claude-code\.json\. To replace .+ --url URL\./,
  );
  const named = await run(t, home, ["install", "claude-code", "--name", "my laptop"]);
  assert.deepEqual([named.code, named.stdout], [2, ""]);
  assert.match(named.stderr, /--name needs --provision/);
  assert.equal(readFileSync(home.profile, "utf8"), written);
});

test("[ours.adapters.status] status lists agents and their providers", async (t) => {
  const home = newHome(t, OWN_SETTINGS);
  await scene.install(t, home);
  writeFileSync(home.codex, "{");
  const { stdout } = await run(t, home, ["status", "--json"]);
  const rows = JSON.parse(stdout) as { agent: string; state: string; url?: string }[];
  assert.deepEqual(rows.map(({ agent, state, url }) => [agent, state, url]).slice(0, 3), [
    ["claude-code", "installed", scene.server.url],
    ["cline", "not installed", undefined],
    ["codex", "unreadable", undefined],
  ]);
  assert.match((await run(t, home, ["status"])).stdout, /^claude-code\s+installed\s+http/m);
});

test("[ours.adapters.install.again] install reads the URL and the key from the environment, and a profile wins", async (t) => {
  const home = newHome(t);
  const { url: server } = scene.server;
  const env = {
    npm_config_user_agent: "npm/11.0.0",
    COUNTERSIGN_URL: server,
    COUNTERSIGN_API_KEY: scene.credential,
    COUNTERSIGN_ADAPTER_WAIT: "1h",
  };
  const first = await run(t, home, ["install", "claude-code"], { env });
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, new RegExp(`requests approval at ${server}\\.`));
  assert.match(first.stderr, /COUNTERSIGN_ADAPTER_WAIT is deprecated\. Set COUNTERSIGN_HOOK_WAIT/);
  const written = readFileSync(home.profile, "utf8");
  assert.equal((JSON.parse(written) as { token: string }).token, scene.credential);

  const other = {
    COUNTERSIGN_URL: "http://localhost:1",
    COUNTERSIGN_API_KEY: "other",
  };
  const again = await run(t, home, ["install", "claude-code"], { env: other });
  assert.equal(again.code, 0, again.stderr);
  const { url, token } = JSON.parse(readFileSync(home.profile, "utf8")) as Record<string, string>;
  assert.deepEqual([url, token], [server, scene.credential]);
  const kept = `Kept the URL ${server} and the key of the profile ${home.profile}.`;
  assert.ok(again.stderr.includes(`${kept} To replace both, add --url URL.\n`), again.stderr);
  assert.match(again.stderr, /^Ignored COUNTERSIGN_URL and COUNTERSIGN_API_KEY: the profile has /m);
  assert.doesNotMatch(`${first.stderr}${again.stderr}`, /cs_inst_/);

  const open = await run(t, home, ["install", "claude-code", "--environment"], { env: other });
  assert.match(
    open.stderr,
    /^The hook uses COUNTERSIGN_URL and COUNTERSIGN_API_KEY instead of the profile if the agent /m,
  );
  assert.doesNotMatch(open.stderr, /Ignored/);

  const same = await run(t, home, ["install", "claude-code"], { env });
  assert.ok(same.stderr.includes(kept), same.stderr);
  assert.doesNotMatch(same.stderr, /Ignored/);
  assert.doesNotMatch(first.stderr, /Kept/);
  assert.match(first.stderr, /^Test it: npx @countersign\/agent-hooks doctor claude-code$/m);
  assert.match(again.stderr, /^Test it: countersign-agent-hooks doctor claude-code$/m);
});
