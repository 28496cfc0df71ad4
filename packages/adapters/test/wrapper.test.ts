/**
 * The command that stands in an agent's settings: whatever becomes of the hook inside, and whenever
 * it is killed, the agent is told yes by an approval alone.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { fileOwner, type Outcome, temporaryFolder } from "countersign/test/support/child.ts";
import { eventually } from "countersign/test/support/eventually.ts";
import { hookCommand } from "../src/install/hook-command.ts";
import { readHookSettings } from "../src/profile/hook-settings.ts";
import { readProfile, writeProfile } from "../src/profile/profile.ts";
import {
  BIN,
  callInput,
  decisionIn,
  feed,
  type HookScene,
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
    // What is left over when a test fails must not outlive it for long.
    waitMs: 60_000,
    leave: [],
    keepPrompts: false,
    environment: false,
    uses: join(scene.home, "uses"),
  });
});

function commandOf(fields: object = {}): string {
  const place = { node: process.execPath, script: BIN, agent: "claude-code", profile };
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

function assertBlocked({ code, stdout, stderr }: Outcome, reason: RegExp): void {
  assert.deepEqual([code, stdout], [2, ""], stderr);
  assert.match(stderr, reason);
}

/** Processes of Node below one process. */
function hooksBelow(pid: number): number[] {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,comm="], { encoding: "utf8" });
  const rows = table
    .trim()
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)?.slice(1) ?? []);
  const below = (parent: number): number[] => {
    const children = rows.filter(([, ppid]) => Number(ppid) === parent);
    return children.flatMap(([child, , name]) => {
      const deeper = below(Number(child));
      return /node|MainThread/.test(name ?? "") ? [Number(child), ...deeper] : deeper;
    });
  };
  return below(pid);
}

test("[ours.adapters.hook.wrapped] the answer of the hook passes through as it is", async (t) => {
  const hook = runAsAgent(t, commandOf(), callInput());
  await scene.decideNext("approve");
  const outcome = await hook.ends();
  assert.deepEqual([outcome.code, outcome.stderr], [0, ""]);
  assert.equal(decisionIn(outcome).permissionDecision, "allow");
  const denied = runAsAgent(t, commandOf(), callInput());
  await scene.decideNext("deny", { note: 'Say "no" \\n %s $HOME' });
  const reason = decisionIn(await denied.ends()).permissionDecisionReason;
  assert.equal(reason, 'Countersign: The provider denied this call: Say "no" \\n %s $HOME');
});

test("[ours.adapters.hook.wrapped] a hook that is gone, broken, empty or crashes lets nothing run", async (t) => {
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
    "nobody awaits it": script("waits.mjs", "await new Promise(() => {})"),
    "the profile is gone": { profile: join(folder, "gone.json") },
  };
  for (const [name, fields] of Object.entries(broken)) {
    const outcome = await runAsAgent(t, commandOf(fields), callInput()).ends();
    assert.deepEqual([outcome.code, outcome.stdout], [2, ""], `${name}: ${outcome.stderr}`);
    assert.match(outcome.stderr, /Countersign: /, name);
  }
});

test("[ours.adapters.hook.wrapped] a package that cannot be loaded lets nothing run", async (t) => {
  const folder = temporaryFolder(t);
  const bin = join(folder, "cli/bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  // Alone, without the packages that it needs.
  execFileSync("cp", [BIN, join(bin, "countersign.js")]);
  const lonely = { script: join(bin, "countersign.js") };
  assertBlocked(
    await runAsAgent(t, commandOf(lonely), callInput()).ends(),
    /cannot be loaded, so this call was not run/,
  );
});

test("[ours.adapters.hook.wrapped] compiled code is taken from no folder that others can write to", async (t) => {
  const home = temporaryFolder(t);
  const temporary = temporaryFolder(t);
  // Node itself lets this one name the place; who runs tests may have done so.
  const env = { HOME: home, TMPDIR: temporary, XDG_CACHE_HOME: "", NODE_COMPILE_CACHE: "" };
  await runAsAgent(t, commandOf(), "{}", env).ends();
  assert.deepEqual(readdirSync(temporary), []);
  assert.equal(readdirSync(join(home, ".cache/countersign/compiled")).length, 1);
});

test("[ours.adapters.hook.profile] next to a profile the environment is refused, unless the profile lets it speak", async (t) => {
  const kept = readProfile(profile);
  assert.ok(kept !== undefined);
  // Who sets variables for an agent could name a provider that approves everything.
  const env = { COUNTERSIGN_ADAPTER_WAIT: "1s" };
  const refused = await runAsAgent(t, commandOf(), callInput(), env).ends();
  assertBlocked(refused, /COUNTERSIGN_ADAPTER_WAIT is set, and .+ does not let/);
  // Nor by Node's own variables: a proxy answers, and gets the credential.
  for (const [variable, value] of [
    ["NODE_USE_ENV_PROXY", "1"],
    ["NODE_TLS_REJECT_UNAUTHORIZED", "0"],
  ] as const) {
    const led = await runAsAgent(t, commandOf(), callInput(), { [variable]: value }).ends();
    assertBlocked(led, new RegExp(`${variable} is set, and .+ does not let`));
  }
  const open = join(scene.home, "adapters/open.json");
  writeProfile(open, { ...kept, environment: true });
  const outcome = await runAsAgent(t, commandOf({ profile: open }), callInput(), env).ends();
  assert.match(decisionIn(outcome).permissionDecisionReason ?? "", /Nobody decided/);
  // Past the limit that was installed for the profile's wait, an agent may run the tool.
  const longer = { COUNTERSIGN_ADAPTER_WAIT: "61s" };
  assert.throws(() => readHookSettings("codex", open, longer), /WAIT is longer than the wait of/);
});

test("[ours.adapters.hook.profile] a profile that others can read or that has a fault asks nobody", async (t) => {
  const text = readFileSync(profile, "utf8");
  const faults: readonly (readonly [string, RegExp, number?])[] = [
    [text, /Others can read/, 0o644],
    [text, /Others can read/, 0o620],
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
    assert.ok(!outcome.stderr.includes(scene.token));
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

test("[ours.adapters.hook.killed] a hook that is killed while it waits lets nothing run", async (t) => {
  const agent = runAsAgent(t, commandOf(), callInput());
  const id = await scene.nextPending();
  const [hook] = await eventually("the hook", () => {
    const found = hooksBelow(agent.pid);
    return found.length > 0 ? found : undefined;
  });
  assert.ok(hook !== undefined);
  process.kill(hook, "SIGKILL");
  assertBlocked(await agent.ends(), /failed \(code 137\)/);
  // Nobody is left to take it back; approved later, it runs nothing.
  await scene.server.decide(scene.reviewer, id, "approve");
});

test("[ours.adapters.hook.killed] killed at any moment of an approval: at most one yes, and none without it", async (t) => {
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
    if (first.code !== 0) assertBlocked(first, /failed \(code 137\)/);
    const request: ApprovalRequest = await scene.server.read(scene.token, id);
    assert.equal(request.status, "approved");
    answered += yes.length;
  }
  t.diagnostic(`${answered} of 8 approvals were used`);
});
