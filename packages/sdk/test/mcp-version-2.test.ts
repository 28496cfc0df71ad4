// Needs: frameworks
// Process: own
/**
 * The adapter for MCP servers, in front of the client and the server of version 2 of the MCP SDK.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { gateServer, type McpOptions } from "@countersign/sdk/mcp";
import type { AgentScene } from "@countersign/testing/agent-scene";
import { Client } from "@modelcontextprotocol/client";
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, clientOf, sharedScene } from "./support/framework-scene.ts";
import {
  connect,
  connectOverHttp,
  framework,
  PINNED,
  version,
} from "./support/frameworks/mcp-version-2.ts";
import {
  INFO,
  inputSchema,
  mcpRules,
  type TextResult,
  textOf,
  textResult,
} from "./support/mcp-rules.ts";

frameworkRules(framework);
mcpRules(version);

const CALL = { name: "pay", arguments: { to: "A-1", cents: 5 } };

function gatedServer(
  options: McpOptions,
  run: () => Promise<TextResult> = () => assert.fail("it ran"),
): McpServer {
  const server = new McpServer(INFO);
  gateServer(server, options);
  server.registerTool("pay", { inputSchema }, run);
  return server;
}

test("[ours.sdk.frameworks.abort] mcp 2: an HTTP client that disconnects cancels its request", async () => {
  const scene = await sharedScene();
  const client = await connectOverHttp(() => gatedServer({ approvals: approvalsOf(scene) }));
  const settled = Promise.allSettled([client.call(CALL)]);
  const id = await scene.nextPending();
  await client.close();
  await settled;
  assert.equal((await clientOf(scene).read(id, { wait: "25s" })).status, "cancelled");
});

test("[ours.sdk.frameworks.held] mcp 2: an HTTP client is notified that the call waits", async () => {
  const scene = await sharedScene();
  const options = { approvals: approvalsOf(scene), progressInterval: "1ms" } as const;
  const client = await connectOverHttp(() => gatedServer(options, async () => textResult("paid")));
  const progressMessage = Promise.withResolvers<string | undefined>();
  const ended = client.call(CALL, {
    onprogress: ({ message }) => progressMessage.resolve(message),
  });
  assert.equal(await Promise.race([progressMessage.promise, ended]), "waiting for approval");
  await scene.decideNext("approve");
  assert.equal(textOf(await ended), "paid");
});

test("[ours.sdk.frameworks.ungateable] mcp 2: a handler of tools/call with its own schema does not run", async () => {
  const server = gatedServer({ approvals: approvalsOf(await sharedScene()) });
  const params = z.object({ name: z.string() });
  server.server.setRequestHandler("tools/call", { params }, () => assert.fail("it ran"));
  const result = await (await connect(server)).call(CALL);
  assert.match(textOf(result), /^The call did not run/);
});

/** A client whose user confirms every question of a tool. */
function confirmingClient(options: ConstructorParameters<typeof Client>[1] = {}): Client {
  const client = new Client(INFO, { ...options, capabilities: { elicitation: {} } });
  client.setRequestHandler("elicitation/create", () => {
    return { action: "accept", content: { account: "B-2" } };
  });
  return client;
}

/** Asks the client for the account, in a first round, and then pays. */
function askingServer(scene: AgentScene): McpServer {
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(scene) });
  server.registerTool("pay", { inputSchema }, (_input, { mcpReq }) => {
    const account = z.object({ account: z.string() });
    const given = acceptedContent(mcpReq.inputResponses, "source", account);
    if (given !== undefined) return textResult(`paid from ${given.account}`);
    const question = { message: "From which account?", requestedSchema: account };
    const source = inputRequired.elicit(question);
    return inputRequired({ inputRequests: { source }, requestState: "asked" });
  });
  return server;
}

const CONNECTIONS = {
  "over HTTP": (scene: AgentScene) => {
    return connectOverHttp(() => askingServer(scene), confirmingClient(PINNED));
  },
  "of an older revision": (scene: AgentScene) => {
    return connect(askingServer(scene), confirmingClient());
  },
};

for (const [title, open] of Object.entries(CONNECTIONS)) {
  test(`[ours.sdk.frameworks.held] mcp 2: a client ${title}: each round of a tool that requires input waits for its own approval`, async () => {
    const scene = await sharedScene();
    const client = await open(scene);
    const ended = client.call(CALL);
    const rounds: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const id = await scene.nextPending();
      const { arguments: submitted, context } = await scene.server.read(scene.token, id);
      const { input_responses: responses, request_state: state } = Object(context);
      rounds.push([submitted, responses, state]);
      await scene.server.decide(scene.reviewer, id, "approve");
    }
    assert.equal(textOf(await ended), "paid from B-2");
    const response = { action: "accept", content: { account: "B-2" } };
    assert.deepEqual(rounds, [
      [CALL.arguments, undefined, undefined],
      [CALL.arguments, { source: response }, "asked"],
    ]);
  });
}
