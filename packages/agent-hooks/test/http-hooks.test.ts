// Tier: nightly
// Needs: coding-agents
/** Hooks over HTTP in the real Claude Code. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { CLAUDE_CODE } from "@countersign/agents";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { Child, fileOwner, temporaryFolder } from "@countersign/testing/child";
import { requireCodingAgent } from "@countersign/testing/coding-agents";
import { STARTS } from "../src/doctor/agent-starts.ts";
import { startModelStandIn } from "../src/doctor/model-stand-in.ts";

const claude = requireCodingAgent("claude-code");

interface Session {
  /** True if the command of the model ran. */
  readonly ran: boolean;
  /** The result that the model received. */
  readonly result: string;
}

interface HookOptions {
  readonly url: string;
  readonly token?: string;
  readonly timeoutS?: number;
}

const file = fileOwner();
let scene: AgentScene;
/** Of the server, without a name: for names, Claude Code uses the proxy of the trial. */
let url: string;

before(async () => {
  scene = await startAgentScene(file, { settings: { extensions: "server" } });
  url = scene.url.replace("localhost", "127.0.0.1");
});

test("[ours.hooks.http] Claude Code runs an approved call, and blocks a denied one", async (t) => {
  const approved = runClaude(t, { url });
  await scene.decideNext("approve");
  assert.equal((await approved).ran, true);

  const denied = runClaude(t, { url });
  await scene.decideNext("deny", { note: "Not today." });
  const { ran, result } = await denied;
  assert.equal(ran, false);
  assert.match(result, /Countersign: This call was denied: Not today\./);
});

test("[ours.hooks.http] Claude Code blocks the call after every failure", async (t) => {
  const closed = await startAnswering(t, 503);
  const broken = await startAnswering(t, "reset");
  const failures: readonly (readonly [reason: RegExp, HookOptions])[] = [
    [/ECONNREFUSED/, { url: "http://127.0.0.1:9" }],
    [/HTTP 401/, { url, token: "wrong" }],
    [/HTTP 503/, { url: closed }],
    [/aborted/, { url: broken }],
    [/time/i, { url, timeoutS: 2 }],
  ];
  for (const [reason, options] of failures) {
    const { ran, result } = await runClaude(t, options);
    assert.equal(ran, false, result);
    assert.match(result, /blocking because onFailure is "block"/);
    assert.match(result, reason);
  }
});

/** Starts Claude Code with the documented settings, and a model that proposes one command. */
async function runClaude(t: TestContext, options: HookOptions): Promise<Session> {
  const { url, token = scene.token, timeoutS = 600 } = options;
  const folder = temporaryFolder(t);
  const made = join(folder, "made");
  const model = await startModelStandIn(`touch ${made}`);
  t.after(() => model.close());
  const user = join(folder, "user");
  const configuration = join(folder, "configuration");
  for (const each of [user, configuration]) mkdirSync(each);
  const hook = {
    type: "http",
    url: `${url}/hooks/claude-code?wait=9m`,
    headers: { Authorization: "Bearer $COUNTERSIGN_API_KEY" },
    allowedEnvVars: ["COUNTERSIGN_API_KEY"],
    timeout: timeoutS,
    onFailure: "block",
  };
  const settings = { hooks: { PreToolUse: [{ hooks: [hook] }] } };
  writeFileSync(join(user, "settings.json"), JSON.stringify(settings));
  const prepare = STARTS["claude-code"];
  assert.ok(prepare !== undefined && claude !== undefined);
  const start = prepare(CLAUDE_CODE, configuration, model.url, { CLAUDE_CONFIG_DIR: user });
  // Without the hook, the command would run.
  const child = new Child(t, [claude, ...start.args, "--allowedTools", "Bash"], {
    cwd: folder,
    env: {
      HOME: folder,
      PATH: process.env.PATH,
      COUNTERSIGN_API_KEY: token,
      ...start.variables,
    },
  });
  await child.ends();
  return { ran: existsSync(made), result: model.results().join("\n") };
}

/** A server that answers each request in this way. @returns its address */
async function startAnswering(t: TestContext, answer: number | "reset"): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    if (answer !== "reset") return void response.writeHead(answer).end();
    response.writeHead(200, { "content-type": "application/json" });
    response.write(" ", () => response.destroy());
  });
  t.after(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
