/** Tools of MCP servers, at providers that record servers and at others. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Countersign, parseJson, splitToolName } from "@countersign/sdk";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { startMisbehavingProvider } from "@countersign/testing/misbehaving-provider";

const CALL = {
  tool: "create_issue",
  server: "github",
  arguments: { title: "It broke" },
  context: { runtime: "test" },
};

test("[ours.sdk.identity] a joined name is split at the first separator after its prefix", () => {
  const cases: [string, object][] = [
    ["mcp__github__create_issue", { server: "github", tool: "create_issue" }],
    ["mcp__a__b__c", { server: "a", tool: "b__c" }],
    ["mcp__a_b__c", { server: "a_b", tool: "c" }],
    ["Bash", { tool: "Bash" }],
    ["github__create_issue", { tool: "github__create_issue" }],
    ["mcp__github", { tool: "mcp__github" }],
    ["mcp__github__", { tool: "mcp__github__" }],
    ["mcp____tool", { tool: "mcp____tool" }],
  ];
  for (const [name, identity] of cases) assert.deepEqual(splitToolName(name), identity, name);
});

test("[ours.sdk.identity] a provider that records servers receives the tool and its server", async (t) => {
  const scene = await startAgentScene(t, { settings: { extensions: "server" } });
  const approvals = new Countersign({ url: scene.url, apiKey: scene.token, logger: false });
  const called = approvals.run(CALL, () => "created");
  const id = await scene.decideNext("approve");
  assert.equal((await called).status, "executed");
  const submitted = await scene.server.read(scene.token, id);
  const { tool, server, context } = submitted as typeof submitted & { readonly server?: string };
  assert.deepEqual(
    { tool, server, context },
    {
      tool: "create_issue",
      server: "github",
      context: { runtime: "test" },
    },
  );
});

test("[ours.sdk.identity] another provider receives the joined name, is asked once, and the call can be resumed", async (t) => {
  const scene = await startAgentScene(t);
  let refused = 0;
  const counting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (response.status === 400) refused++;
    return response;
  };
  const newProcess = () => {
    const { url, token: apiKey } = scene;
    return new Countersign({ url, apiKey, fetch: counting, wait: false, logger: false });
  };
  const approvals = newProcess();
  const suspended = await approvals.run(CALL, () => assert.fail("it ran"));
  assert.ok(suspended.status === "pending");
  const { tool, context } = await scene.server.read(scene.token, suspended.requestId);
  assert.equal(tool, "mcp__github__create_issue");
  assert.deepEqual(context, { server: "github", server_tool: "create_issue", runtime: "test" });
  const second = await approvals.submit({ ...CALL, idempotencyKey: "second" });
  assert.equal(second.status, "pending");
  assert.equal(refused, 1);
  await scene.server.decide(scene.reviewer, suspended.requestId, "approve");
  const resumed = await newProcess().resume(suspended.pending, () => "created");
  assert.equal(resumed.status, "executed");
});

test("[ours.sdk.identity] an answer with another server, or without the server, runs nothing", async (t) => {
  for (const answered of ['"server":"gitlab"', '"region":"eu"']) {
    const provider = await startMisbehavingProvider(t, ({ kind, correctAnswer }) => {
      return kind === "consume"
        ? correctAnswer
        : correctAnswer.replace('"server":"github"', answered);
    });
    const approvals = new Countersign({ url: provider.url, apiKey: "t", logger: false });
    const result = await approvals.run(CALL, () => assert.fail("it ran"));
    assert.ok(result.status === "unavailable", JSON.stringify(result));
    assert.match(result.messageForModel, /server is not what was submitted/);
  }
});

test("[ours.sdk.identity] members of the context with the same names are kept", async (t) => {
  const scene = await startAgentScene(t);
  const { url, token: apiKey } = scene;
  const approvals = new Countersign({ url, apiKey, wait: false, logger: false });
  const context = parseJson('{ "server": "files" , "size": 1.50 }') as object;
  const suspended = await approvals.submit({ ...CALL, context, idempotencyKey: "k" });
  assert.ok(suspended.status === "pending");
  const request = await scene.server.read(scene.token, suspended.requestId);
  assert.deepEqual(request.context, { server_tool: "create_issue", server: "files", size: 1.5 });
});
