// Needs: ps
/**
 * The command in an agent's settings: however the hook inside fails, and whenever it is killed, the
 * agent receives a yes only for an approval.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { findAgent } from "@countersign/agents";
import type { ApprovalRequest } from "@countersign/protocol";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { hookCommand } from "../src/install/hook-command.ts";
import type { HookPlace } from "../src/install/hook-place.ts";
import { HOOK_VARIABLES, readHookSettings } from "../src/profile/hook-settings.ts";
import { readProfile, writeProfile } from "../src/profile/profile.ts";
import {
  assertBlocked,
  BIN,
  callInput,
  decisionIn,
  feed,
  type HookScene,
  hooksBelow,
  startHookScene,
} from "./support/hook-scene.ts";

const file = fileOwner();
let scene: HookScene;
let profile: string;

before(async () => {
  scene = await startHookScene(file);
  profile = join(scene.home, "adapters/claude-code.json");
  writeProfile(profile, {
    url: scene.url,
    token: scene.token,
    // Processes that remain after a failed test must exit soon.
    waitMs: 60_000,
    leave: [],
    keepPrompts: false,
    promptsOnly: false,
    localPrompt: false,
    environment: false,
    uses: join(scene.home, "uses"),
  });
});

function commandOf({ agent = "claude-code", ...fields }: Partial<HookPlace> = {}): string {
  const place = {
    node: process.execPath,
    script: BIN,
    agent,
    denied: findAgent(agent)?.events[0].output.denied,
    isPrompt: false,
    profile,
    home: scene.home,
    caFile: undefined,
    environment: false,
    program: "countersign-agent-hooks",
  };
  return hookCommand({ ...place, ...fields });
}

/** As an agent runs it. */
function runAsAgent(
  t: TestContext,
  command: string,
  input: string,
  env: Readonly<Record<string, string>> = {},
) {
  return feed(t, scene.home, ["/bin/sh", "-c", command], { input, env });
}

test("[ours.adapters.hook.wrapped] the command passes the hook's answer through unchanged", async (t) => {
  const hook = runAsAgent(t, commandOf(), callInput());
  await scene.decideNext("approve");
  const outcome = await hook.ends();
  assert.deepEqual([outcome.code, outcome.stderr], [0, ""]);
  assert.equal(decisionIn(outcome).permissionDecision, "allow");
  const denied = runAsAgent(t, commandOf(), callInput());
  await scene.decideNext("deny", { note: 'Say "no" \\n %s $HOME' });
  const reason = decisionIn(await denied.ends()).permissionDecisionReason;
  assert.equal(reason, 'Countersign: This call was denied: Say "no" \\n %s $HOME');
});

test("[ours.adapters.hook.wrapped] a missing, broken, empty or crashing hook blocks the call", async (t) => {
  const folder = temporaryFolder(t, "it's a test ");
  const script = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return { script: path };
  };
  const hidden = join(folder, "no-node");
  writeFileSync(hidden, "#!/bin/sh\nexit 0\n", { mode: 0o600 });
  const broken = {
    "node is gone": { node: "/nowhere/node" },
    "node may not be run": { node: hidden },
    "the script is gone": { script: join(folder, "gone.js") },
    "the script is empty": script("empty.js", ""),
    "the script is cut off": script("half.js", 'const a = "'),
    "it throws": script("throws.js", "throw new Error('x')"),
    "it ends well without a word": script("silent.js", "process.exit(0)"),
    "it ends badly with words": script("words.js", "console.log('{}'); process.exit(1)"),
    "it kills itself": script("kills.js", "process.kill(process.pid, 'SIGKILL')"),
    "it runs out of memory": script("abort.js", "process.abort()"),
    "no caller awaits it": script("waits.mjs", "await new Promise(() => {})"),
    "the profile is gone": { profile: join(folder, "gone.json") },
  };
  for (const [name, fields] of Object.entries(broken)) {
    const claude = await runAsAgent(t, commandOf(fields), callInput()).ends();
    assertBlocked(claude, /Run: countersign-agent-hooks (doctor|install) claude-code/);
    // The model must not read where the credential is.
    assert.ok(!claude.stdout.includes("/"), `${name}: ${claude.stdout}`);
    const codex = commandOf({ agent: "codex", ...fields });
    assertBlocked(await runAsAgent(t, codex, callInput()).ends(), /Countersign: /, "codex");
  }
});

test("[ours.adapters.hook.wrapped] a package that cannot be loaded blocks the call", async (t) => {
  const folder = temporaryFolder(t);
  const bin = join(folder, "cli/bin");
  mkdirSync(bin, { recursive: true });
  const manifest = { type: "module", imports: { "#hook": "./dist/hook.cjs" } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  // Without the bundle.
  execFileSync("cp", [BIN, join(bin, "countersign-agent-hooks.js")]);
  const lonely = { script: join(bin, "countersign-agent-hooks.js") };
  const outcome = await runAsAgent(t, commandOf(lonely), callInput()).ends();
  assertBlocked(outcome, /The approval hook failed/);
  assert.match(outcome.stderr, /cannot be loaded \(ERR_MODULE_NOT_FOUND\)/);
});

test("[ours.adapters.hook.wrapped] compiled code is cached only in the home folder of install, for any environment", async (t) => {
  const home = temporaryFolder(t);
  const hostile = temporaryFolder(t);
  const env = {
    HOME: hostile,
    TMPDIR: hostile,
    XDG_CACHE_HOME: hostile,
    NODE_COMPILE_CACHE: hostile,
  };
  await runAsAgent(t, commandOf({ home }), "{}", env).ends();
  assert.deepEqual(readdirSync(hostile), []);
  assert.equal(readdirSync(join(home, ".cache/countersign/compiled")).length, 1);
});

test("[ours.adapters.hook.environment] the hook receives the variables of install, and no others", async (t) => {
  const folder = temporaryFolder(t, "it's $HOME ");
  const script = join(folder, "environment.js");
  writeFileSync(script, "console.log(JSON.stringify(process.env))");
  const evil = join(folder, "evil.js");
  writeFileSync(evil, "console.log('{}'); process.exit(0)");
  const env = {
    NODE_OPTIONS: `--require "${evil}"`,
    NODE_COMPILE_CACHE: ".claude/cache",
    OPENSSL_CONF: join(folder, "openssl.cnf"),
    SSL_CERT_FILE: join(folder, "ca.pem"),
    XDG_CACHE_HOME: folder,
    XDG_CONFIG_HOME: folder,
    HOME: folder,
    PATH: `${folder}:/usr/bin:/bin`,
    BASH_ENV: evil,
    ENV: evil,
    COUNTERSIGN_URL: "http://localhost:1/'\"$HOME",
  };
  // The shell itself sets these.
  const ofShell = ["PWD", "OLDPWD", "SHLVL", "_"];
  const received = async (fields: object) => {
    const { stdout, stderr } = await runAsAgent(t, commandOf(fields), "{}", env).ends();
    assert.equal(stderr, "");
    const entries = Object.entries(JSON.parse(stdout) as Record<string, string>);
    return Object.fromEntries(entries.filter(([name]) => !ofShell.includes(name)));
  };
  const fixed = { HOME: folder, PATH: "/usr/bin:/bin" };
  assert.deepEqual(await received({ script, home: folder }), fixed);
  const caFile = join(folder, "corporate.pem");
  writeFileSync(caFile, "");
  const withCa = await received({ script, home: folder, caFile });
  assert.deepEqual(withCa, { ...fixed, NODE_EXTRA_CA_CERTS: caFile });
  const { COUNTERSIGN_URL } = env;
  const empty = Object.fromEntries(HOOK_VARIABLES.map((name) => [name, ""]));
  const open = await received({ script, home: folder, environment: true });
  assert.deepEqual(open, { ...fixed, ...empty, COUNTERSIGN_URL });
});

test("[ours.adapters.hook.profile] with a profile, environment variables are rejected, unless the profile allows them", async (t) => {
  const kept = readProfile(profile);
  assert.ok(kept !== undefined);
  // An attacker who sets the agent's variables could name a provider that approves everything.
  const env = { COUNTERSIGN_HOOK_WAIT: "1s" };
  const words = [process.execPath, BIN, "hook", "claude-code", "--profile", profile];
  // A proxy could answer for the provider, and would receive the credential.
  const variables = { ...env, NODE_USE_ENV_PROXY: "1", NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  for (const [variable, value] of Object.entries(variables)) {
    const run = { input: callInput(), env: { [variable]: value } };
    const refused = await feed(t, scene.home, words, run).ends();
    assertBlocked(refused, new RegExp(`profile does not allow ${variable} in the environment`));
  }
  const open = join(scene.home, "adapters/open.json");
  writeProfile(open, { ...kept, environment: true });
  const command = commandOf({ profile: open, environment: true });
  assertBlocked(await runAsAgent(t, command, callInput(), env).ends(), /No reviewer decided/);
  // Past the limit that was installed for the profile's wait, an agent may run the tool.
  const setup = { agent: "codex", profile: open, program: "countersign-agent-hooks" };
  const longer = { COUNTERSIGN_HOOK_WAIT: "61s" };
  assert.throws(
    () => readHookSettings({ ...setup, environment: longer }),
    /WAIT is longer than the wait of/,
  );
});

test("[ours.workload.key-file] an installed command that allows the environment uses the key in COUNTERSIGN_API_KEY_FILE", async (t) => {
  const kept = readProfile(profile);
  assert.ok(kept !== undefined);
  const open = join(scene.home, "adapters/key-file.json");
  writeProfile(open, { ...kept, environment: true, token: `cs_inst_${"0".repeat(49)}` });
  const keyFile = join(scene.home, "key");
  writeFileSync(keyFile, scene.token);
  const env = { COUNTERSIGN_API_KEY_FILE: keyFile, COUNTERSIGN_HOOK_WAIT: "1s" };
  const command = commandOf({ profile: open, environment: true });
  assertBlocked(await runAsAgent(t, command, callInput(), env).ends(), /No reviewer decided/);
});

test("[ours.adapters.hook.profile] next to a profile, variables of the provider name no other one", () => {
  const kept = readProfile(profile);
  assert.ok(kept !== undefined);
  const environment = {
    COUNTERSIGN_URL: "http://localhost:1",
    COUNTERSIGN_API_KEY: "other",
    COUNTERSIGN_API_KEY_FILE: "/missing",
  };
  const setup = { agent: "codex", profile, program: "countersign-agent-hooks", environment };
  const { url, token } = readHookSettings(setup);
  assert.deepEqual([url, token], [kept.url, kept.token]);
  const old = { COUNTERSIGN_ADAPTER_URL: "http://localhost:1" };
  assert.throws(
    () => readHookSettings({ ...setup, environment: old }),
    /does not allow COUNTERSIGN_ADAPTER_URL/,
  );
});

test("[ours.adapters.hook.profile] an invalid profile, or one that others can read, sends no request", async (t) => {
  const text = readFileSync(profile, "utf8");
  const faults: readonly (readonly [string, RegExp, number?])[] = [
    [text, /cannot use its profile .+ Run: countersign-agent-hooks doctor claude-code/, 0o644],
    [text, /cannot use its profile/, 0o620],
    ["", /invalid|JSON|empty/i],
    [text.replace('"version": 1', '"version": 2'), /version/],
    [text.replace('"wait": "1m"', '"wait": "169h"'), /wait/],
    [text.replace('"leave": []', '"leave": "Read"'), /leave/],
    [text.replace('"leave": []', '"leave": [], "leave": ["*"]'), /twice/],
    [text.replace('"leave": []', '"laeve": []'), /unknown field/],
  ];
  for (const [written, reason, mode = 0o600] of faults) {
    const path = join(scene.home, "adapters/fault.json");
    writeFileSync(path, written);
    chmodSync(path, mode);
    const outcome = await runAsAgent(t, commandOf({ profile: path }), callInput()).ends();
    assertBlocked(outcome, reason);
    const { stdout, stderr } = outcome;
    for (const secret of [scene.token, scene.home]) {
      assert.ok(!`${stdout}${stderr}`.includes(secret));
    }
  }
});

test("[ours.adapters.hook.stopped] when the agent kills the command alone, the hook takes the request back", async (t) => {
  const agent = runAsAgent(t, commandOf(), callInput());
  const id = await scene.nextPending();
  agent.signal("SIGKILL");
  await eventually("that the request is cancelled", async () => {
    const { status } = await scene.server.read(scene.token, id);
    return status === "cancelled" ? true : undefined;
  });
  assert.equal((await agent.ends()).stdout, "");
});

test("[ours.adapters.hook.killed] a hook killed while it waits blocks the call", async (t) => {
  const agent = runAsAgent(t, commandOf(), callInput());
  const id = await scene.nextPending();
  const [hook] = await eventually("the hook", () => {
    const found = hooksBelow(agent.pid);
    return found.length > 0 ? found : undefined;
  });
  assert.ok(hook !== undefined);
  process.kill(hook, "SIGKILL");
  const outcome = await agent.ends();
  assertBlocked(outcome, /The approval hook failed/);
  assert.match(outcome.stderr, /failed \(code 137\)/);
  // No process is left to cancel it; an approval runs nothing later.
  await scene.server.decide(scene.reviewer, id, "approve");
});

test("[ours.adapters.hook.killed] a hook killed at any moment allows a call at most once, and only after an approval", async (t) => {
  const input = (n: number) => callInput({ session_id: "killed", tool_use_id: `call-${n}` });
  let answered = 0;
  for (let n = 0; n < 8; n++) {
    const agent = runAsAgent(t, commandOf(), input(n));
    const id = await scene.nextPending();
    const [hook] = hooksBelow(agent.pid);
    assert.ok(hook !== undefined);
    const deciding = scene.server.decide(scene.reviewer, id, "approve");
    // Turns of this loop, so that the blow falls before, in and after the answer.
    for (let turn = 0; turn < n * 60; turn++) await new Promise(setImmediate);
    try {
      process.kill(hook, "SIGKILL");
    } catch {
      // It was done.
    }
    await deciding;
    const first = await agent.ends();
    const second = await runAsAgent(t, commandOf(), input(n)).ends();
    const yes = [first, second].filter(({ code, stdout }) => {
      return code === 0 && decisionIn({ code, stdout, stderr: "" }).permissionDecision === "allow";
    });
    assert.ok(yes.length <= 1, `call ${n}: two calls may run`);
    if (first.stderr !== "") assertBlocked(first, /The approval hook failed/);
    const request: ApprovalRequest = await scene.server.read(scene.token, id);
    assert.equal(request.status, "approved");
    answered += yes.length;
  }
  t.diagnostic(`${answered} of 8 approvals were used`);
});
