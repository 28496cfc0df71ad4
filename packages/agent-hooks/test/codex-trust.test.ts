/**
 * Codex's record of the trusted hook: its key and hash, the text of `config.toml`, and the commands
 * that write and remove it.
 */

import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { fileOwner } from "@countersign/testing/child";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { UnusableConfig } from "../src/codex/config.ts";
import { applyEdit, trustEdit, trustHash, trustState, withoutEdit } from "../src/codex/trust.ts";
import {
  findings,
  type Home,
  type InstallScene,
  newHome,
  run,
  startInstallScene,
} from "./support/agent-home.ts";

const file = fileOwner();
let scene: InstallScene;

before(async () => {
  scene = await startInstallScene(file);
});

const KEY = '/srv/user\'s "home"/hooks.json:pre_tool_use:0:0';
const HASH = `sha256:${"a".repeat(64)}`;
const OLD_HASH = `sha256:${"b".repeat(64)}`;
const OWN_CONFIG = '# mine\nmodel = "gpt"  \n[features]\r\nunified_exec_tty = false';

function configOf(home: Home): string {
  return join(dirname(home.codex), "config.toml");
}

test("[ours.adapters.codex.trust] the hashes are those that Codex 0.169.0 lists", () => {
  const hook = (value: object, matcher?: unknown) => {
    const place = { event: "PreToolUse", group: 0, index: 0, siblings: 1 };
    return trustHash({ ...place, matcher, value: { type: "command", ...value } });
  };
  const command = "/tmp/cx/hook.sh 'é' \"q\"";
  assert.equal(
    hook({ command, timeout: 700, statusMessage: "Waiting for approval" }),
    "sha256:74e835a9ba43a8c19a6f9f815698c93966f71a2847f33fcea37d811cff392e31",
  );
  assert.equal(
    hook({ command: "b" }, ""),
    "sha256:bc336523d12965af1f700798007028345496bc0b44693070b249e1ce87d351c7",
  );
  assert.equal(
    hook({ command: "b", async: true }, "*"),
    "sha256:18bd0d7a20b92e61261e5690e1a455d67bb47bee9cbefbe288d31d5abc7b9d38",
  );
  assert.equal(hook({ command: "b", additionalContextLimit: 5 }), undefined);
});

const OTHER = '[hooks.state."/p/.codex/hooks.json:stop:0:0"]\nenabled = false\n';

test("[ours.adapters.codex.trust] the record is added at the end of any configuration, and removed again", () => {
  const value = fc.dictionary(
    fc.string({ minLength: 1 }),
    fc.oneof(fc.string(), fc.integer(), fc.dictionary(fc.string({ minLength: 1 }), fc.string())),
  );
  const text = fc.tuple(value, fc.constantFrom("", OTHER, "# end", "\n\n")).map(([root, end]) => {
    delete root.hooks;
    return `${stringify(root)}${end}`;
  });
  fc.assert(
    fc.property(text, fc.boolean(), (original, isCrLf) => {
      const before = isCrLf ? original.replaceAll("\n", "\r\n") : original;
      const edit = trustEdit(before, KEY, HASH);
      assert.ok(edit);
      const edited = applyEdit(before, edit) ?? "";
      assert.ok(edited.startsWith(before));
      assert.equal(trustState(edited, KEY)?.trusted_hash, HASH);
      assert.equal(trustEdit(edited, KEY, HASH), undefined);
      assert.equal(withoutEdit(edited, KEY, edit), before);
    }),
  );
});

test("[ours.adapters.codex.trust] the record of an earlier hook gets the new hash", () => {
  const header = `[hooks.state.${JSON.stringify(KEY)}]`;
  const text = `${header}\nenabled = true # x\ntrusted_hash = "${OLD_HASH}"\n`;
  const edit = trustEdit(text, KEY, HASH);
  assert.deepEqual(edit, { before: OLD_HASH, after: HASH });
  const edited = text.replace(OLD_HASH, HASH);
  assert.equal(applyEdit(text, { before: OLD_HASH, after: HASH }), edited);
  assert.equal(
    withoutEdit(`${edited}[a]\n`, KEY, { before: OLD_HASH, after: HASH }),
    `${text}[a]\n`,
  );
});

test("[ours.adapters.codex.trust] a configuration that a table would break or change is rejected", () => {
  const name = JSON.stringify(KEY);
  const texts = [
    "[",
    "a = 1\na = 2\n",
    "hooks = {}\n",
    "[hooks]\nstate = {}\n",
    `[hooks.state.${name}]\nenabled = true\n`,
    `[hooks.state.${name}]\ntrusted_hash = "${OLD_HASH}"\n[a]\nb = "${OLD_HASH}"\n`,
  ];
  for (const text of texts) assert.throws(() => trustEdit(text, KEY, HASH), UnusableConfig, text);
});

test("[ours.adapters.codex.trust] a table that Codex has extended is removed with its new members", () => {
  const edit = trustEdit("[a]\nb = 1\n", KEY, HASH);
  assert.ok(edit);
  const edited = `${applyEdit("[a]\nb = 1\n", edit)}enabled = true\n\n[c]\nd = 1\n`;
  assert.equal(withoutEdit(edited, KEY, edit), "[a]\nb = 1\n\n[c]\nd = 1\n");
});

test("[ours.adapters.codex.trust] install writes the record, and uninstall restores config.toml byte for byte", async (t) => {
  for (const original of [OWN_CONFIG, "", undefined]) {
    const home = newHome(t);
    const config = configOf(home);
    if (original !== undefined) writeFileSync(config, original, { mode: 0o640 });
    const { stdout, stderr } = await scene.install(t, home, "codex", "--wait", "2s");
    assert.match(stdout, /^Hook installed\. /);
    assert.ok(stderr.includes(`This command recorded in ${config} that you trust this hook.`));
    const text = readFileSync(config, "utf8");
    assert.ok(text.startsWith(original ?? ""));
    assert.match(text, /\.codex\/hooks\.json:pre_tool_use:0:0"\]\r?\ntrusted_hash = "sha256:/);
    if (original !== undefined) assert.equal(statSync(config).mode & 0o777, 0o640);
    const again = await run(t, home, ["install", "codex"]);
    assert.match(again.stdout, /^Hook already installed/);
    assert.equal(readFileSync(config, "utf8"), text);
    await run(t, home, ["install", "codex", "--wait", "3s"]);
    const { failed } = await findings(t, home, "codex");
    assert.ok(!failed.includes("settings.trusted"), failed.join());
    assert.equal((await run(t, home, ["uninstall", "codex"])).code, 0);
    assert.equal(existsSync(config) ? readFileSync(config, "utf8") : undefined, original);
  }
});

test("[ours.adapters.codex.trust] uninstall removes only the record from a configuration that has changed", async (t) => {
  // Without a last line end, the new line end stays: it separates the later lines.
  const cases = { [`${OWN_CONFIG}\n`]: `${OWN_CONFIG}\n`, [OWN_CONFIG]: `${OWN_CONFIG}\r\n\r\n` };
  for (const [original, rest] of Object.entries(cases)) {
    const home = newHome(t);
    const config = configOf(home);
    writeFileSync(config, original);
    await scene.install(t, home, "codex");
    const text = readFileSync(config, "utf8");
    writeFileSync(config, `${text.replace("gpt", "other")}[later]\na = 1\n`);
    await run(t, home, ["uninstall", "codex"]);
    const left = readFileSync(config, "utf8");
    assert.equal(left, `${rest.replace("gpt", "other")}[later]\na = 1\n`);
  }
});

test("[ours.adapters.codex.trust] uninstall names a record that it cannot remove", async (t) => {
  const home = newHome(t);
  await scene.install(t, home, "codex");
  const config = configOf(home);
  const table = /\[hooks\.state\.(.+)\]\ntrusted_hash = (.+)\n/;
  const inline = "[hooks]\nstate = { $1 = { trusted_hash = $2 } }\n";
  const text = readFileSync(config, "utf8").replace(table, inline);
  writeFileSync(config, text);
  const { code, stderr } = await run(t, home, ["uninstall", "codex"]);
  assert.equal(code, 0, stderr);
  assert.ok(stderr.includes(`The table of the hook in ${config} has changed.`), stderr);
  assert.equal(readFileSync(config, "utf8"), text);
});

test("[ours.adapters.codex.trust] --no-trust leaves the record to the user", async (t) => {
  const home = newHome(t);
  const config = configOf(home);
  writeFileSync(config, OWN_CONFIG);
  const { stderr } = await scene.install(t, home, "codex", "--no-trust");
  assert.match(stderr, /Start codex, and review the hook with \/hooks\./);
  assert.equal(readFileSync(config, "utf8"), OWN_CONFIG);
  await run(t, home, ["install", "codex"]);
  assert.notEqual(readFileSync(config, "utf8"), OWN_CONFIG);
  await run(t, home, ["install", "codex", "--no-trust"]);
  assert.equal(readFileSync(config, "utf8"), OWN_CONFIG);
  const other = await run(t, home, ["install", "claude-code", "--no-trust"]);
  assert.equal(other.code, 2, other.stderr);
});

test("[ours.adapters.codex.trust] a project's hooks.json gets no record", async (t) => {
  const home = newHome(t);
  const project = join(home.path, "project/.codex");
  mkdirSync(project, { recursive: true });
  await scene.install(t, home, "codex", "--settings", join(project, "hooks.json"));
  assert.ok(existsSync(join(project, "hooks.json")));
  assert.deepEqual([configOf(home), join(project, "config.toml")].map(existsSync), [false, false]);
});

test("[ours.adapters.codex.trust] a config.toml that is not valid stops install before it writes anything", async (t) => {
  const home = newHome(t);
  writeFileSync(configOf(home), "a = 1\n[\n");
  const args = ["install", "codex", "--url", scene.server.url];
  const { code, stderr } = await run(t, home, args, { secret: scene.credential });
  assert.equal(code, 1);
  assert.match(stderr, /config\.toml was not changed: line 2 is not valid TOML\. .+--no-trust/);
  assert.equal(existsSync(home.codex), false);
});

test("[ours.adapters.codex.trust] links: config.toml stays one, and the key has the real CODEX_HOME", async (t) => {
  const home = newHome(t);
  const config = configOf(home);
  const dotfile = join(home.path, "dotfile.toml");
  writeFileSync(dotfile, OWN_CONFIG);
  symlinkSync(dotfile, config);
  await scene.install(t, home, "codex");
  assert.ok(lstatSync(config).isSymbolicLink());
  await run(t, home, ["uninstall", "codex"]);
  assert.equal(readFileSync(dotfile, "utf8"), OWN_CONFIG);
  rmSync(config);
  const real = join(home.path, "real");
  renameSync(dirname(home.codex), real);
  symlinkSync(real, join(home.path, "link"));
  const env = { CODEX_HOME: join(home.path, "link") };
  const args = ["install", "codex", "--url", scene.server.url];
  await run(t, home, args, { secret: scene.credential, env });
  const text = readFileSync(join(real, "config.toml"), "utf8");
  assert.ok(text.includes(`"${join(real, "hooks.json")}:pre_tool_use:0:0"`), text);
  const { failed } = await findings(t, home, "codex", env);
  assert.ok(!failed.includes("settings.trusted"), failed.join());
});

test("[ours.adapters.codex.trust] doctor fails on the record of another hook", async (t) => {
  const home = newHome(t);
  await scene.install(t, home, "codex", "--wait", "2s");
  const config = configOf(home);
  const text = readFileSync(config, "utf8");
  writeFileSync(config, text.replace(/sha256:\w+/, OLD_HASH));
  const { failed, all } = await findings(t, home, "codex");
  assert.deepEqual(failed, ["settings.tty", "settings.trusted"]);
  assert.match(all["settings.trusted"]?.text ?? "", /trusts another version of the hook/);
  assert.match(all["settings.trusted"]?.advice ?? "", /^Run: .+ install codex\. /);
});
