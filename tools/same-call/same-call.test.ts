/** One call of an MCP tool, from the gateway, the contract and each agent that sends its server. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { Child, fileOwner, type Owner, temporaryFolder } from "@countersign/testing/child";
import { countersign } from "@countersign/testing/countersign";
import {
  BIN as HOOKS,
  homeEnvironment,
} from "../../packages/agent-hooks/test/support/hook-scene.ts";
import {
  connectGateway,
  EVERYTHING,
} from "../../packages/mcp-gateway/test/support/gateway-scene.ts";

const POLICY = `version: 1
rules:
  - id: echo
    match: { server: everything, tool: echo }
    then: approve
`;

const SPLIT = { tool: "echo", server: "everything" };
const JOINED = { tool: "mcp__everything__echo", server: undefined };
const ARGUMENTS = { message: "hello" };

/** The input of each agent that sends the server of a tool. */
const INPUTS: Readonly<Record<string, object>> = {
  "claude-code": {
    hook_event_name: "PreToolUse",
    session_id: "s",
    tool_use_id: "t",
    tool_name: "mcp__everything__echo",
    tool_input: ARGUMENTS,
  },
  cline: {
    hookName: "tool_call",
    taskId: "s",
    tool_call: { id: "t", name: "everything__echo", input: ARGUMENTS },
  },
  codex: {
    hook_event_name: "PreToolUse",
    session_id: "s",
    tool_use_id: "t",
    tool_name: "mcp__everything__echo",
    tool_input: ARGUMENTS,
  },
  cursor: {
    hook_event_name: "preToolUse",
    conversation_id: "s",
    cursor_version: "3.17.8",
    tool_name: "MCP:everything:echo",
    tool_input: ARGUMENTS,
  },
  "gemini-cli": {
    hook_event_name: "BeforeTool",
    session_id: "s",
    tool_name: "mcp_everything_echo",
    tool_input: ARGUMENTS,
    mcp_context: { server_name: "everything", tool_name: "echo" },
  },
  openclaw: {
    hook_event_name: "before_tool_call",
    session_id: "s",
    tool_use_id: "t",
    tool_name: "everything__echo",
    tool_input: ARGUMENTS,
  },
  goose: {
    event: "PreToolUse",
    session_id: "s",
    tool_call_id: "t",
    tool_name: "everything__echo",
    tool_input: ARGUMENTS,
  },
  windsurf: {
    agent_action_name: "pre_mcp_tool_use",
    trajectory_id: "s",
    tool_info: {
      mcp_server_name: "everything",
      mcp_tool_name: "echo",
      mcp_tool_arguments: ARGUMENTS,
    },
  },
};

interface Listing {
  readonly requests: readonly Readonly<Record<string, unknown>>[];
}

type Submit = (scene: AgentScene, owner: Owner) => Promise<void>;

function byHook(agent: string, input: object): Submit {
  return async (scene, owner) => {
    const home = temporaryFolder(owner);
    const file = join(home, "input.json");
    writeFileSync(file, JSON.stringify(input));
    const words = [process.execPath, HOOKS, "hook", agent];
    const env = { ...homeEnvironment(home), ...scene.environment };
    const shell = ["/bin/sh", "-c", 'f=$1; shift; exec "$@" < "$f"', "sh", file, ...words];
    const { code, stderr } = await new Child(owner, shell, { env }).ends();
    assert.equal(code, 0, stderr);
  };
}

const gateway: Submit = async (scene, owner) => {
  const { client } = await connectGateway(owner, scene, { everything: EVERYTHING });
  const { content } = await client.callTool({ name: "echo", arguments: ARGUMENTS });
  assert.match(JSON.stringify(content), /hello/);
};

/** @param fields the tool as a client of the wire contract submits it */
function byContract(fields: object): Submit {
  return async ({ server, token }) => {
    const body = { ...fields, arguments: ARGUMENTS, timeout: "5m" };
    const { status } = await server.call("POST", "/v1/requests", {
      token,
      key: randomUUID(),
      body,
    });
    assert.equal(status, 201);
  };
}

const BOTH: Readonly<Record<string, Submit>> = {
  ...Object.fromEntries(
    Object.entries(INPUTS).map(([agent, input]) => [`hook ${agent}`, byHook(agent, input)]),
  ),
  gateway,
};

const WAYS: Readonly<Record<string, Readonly<Record<string, Submit>>>> = {
  server: { ...BOTH, contract: byContract(SPLIT) },
  "": { ...BOTH, contract: byContract(JOINED) },
};

const file = fileOwner();
const scenes = new Map<string, AgentScene>();

before(async () => {
  const policy = join(temporaryFolder(file), "policy.yaml");
  writeFileSync(policy, POLICY);
  for (const extensions of Object.keys(WAYS)) {
    const scene = await startAgentScene(file, { settings: { extensions } });
    const editor = await scene.server.token({ kind: "reviewer", name: "editor", role: "editor" });
    const env = { COUNTERSIGN_URL: scene.url, COUNTERSIGN_TOKEN: editor };
    const { code, stderr } = await countersign(file, ["policy", "publish", policy, "--yes"], {
      env,
    });
    assert.equal(code, 0, stderr);
    scenes.set(extensions, scene);
  }
});

for (const [extensions, ways] of Object.entries(WAYS)) {
  const where = extensions === "" ? "without the extension server" : "with the extension server";
  for (const [way, submit] of Object.entries(ways)) {
    test(`[ours.extensions.server.names] ${way}, ${where}: the same rule approves the same call`, async (t) => {
      const scene = scenes.get(extensions);
      assert.ok(scene !== undefined);
      const count = await scene.countRequests();
      await submit(scene, t);
      assert.equal(await scene.countRequests(), count + 1);
      const path = "/review/v1/requests?limit=1&state=decided";
      const { json } = await scene.server.call<Listing>("GET", path, { token: scene.reviewer });
      const [latest] = json.requests;
      assert.ok(latest !== undefined);
      const { tool, server, arguments: args, decided_by } = latest;
      assert.deepEqual({ tool, server }, extensions === "" ? JOINED : SPLIT);
      assert.deepEqual(args, ARGUMENTS);
      assert.equal(decided_by, "policy:echo");
    });
  }
}
