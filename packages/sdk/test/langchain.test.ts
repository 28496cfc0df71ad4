// Needs: frameworks
// Process: own
/**
 * The adapter for LangChain, in front of the real framework with a scripted model.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Countersign, MemoryStore } from "@countersign/sdk";
import { gateTool, gateTools } from "@countersign/sdk/langchain";
import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, sharedScene } from "./support/framework-scene.ts";
import { framework, SCHEMA, scripted } from "./support/frameworks/langchain.ts";

frameworkRules(framework);

const CALLS = [{ id: "call_1", arguments: { to: " A-1", cents: 5 } }];

test("[ours.sdk.frameworks.held] langchain: the run is the thread, and what the model wrote is its reasoning", async () => {
  const scene = await sharedScene();
  const made = tool(async ({ to }) => [`paid ${to}`, { to }], {
    name: "pay",
    description: "pays",
    schema: SCHEMA,
    responseFormat: "content_and_artifact",
  });
  const model = scripted(CALLS);
  const tools = gateTools([made], { approvals: approvalsOf(scene), context: { model: "fake" } });
  const agent = createAgent({ model, tools, checkpointer: new MemorySaver() });
  const thread = { configurable: { thread_id: "thread 7" } };
  const ended = agent.invoke({ messages: [{ role: "user", content: "pay" }] }, thread);
  const id = await scene.nextPending();
  const { agent_reasoning, context } = await scene.server.read(scene.token, id);
  assert.equal(agent_reasoning, "They asked for it.");
  assert.deepEqual(context, {
    model: "fake",
    runtime: "langchain",
    session_id: "thread 7",
    call_id: "call_1",
  });
  await scene.server.decide(scene.reviewer, id, "deny");
  const { messages } = await ended;
  const answer = messages.find((message) => ToolMessage.isInstance(message));
  assert.equal(answer?.text, "This call was denied.");
  assert.deepEqual(answer?.artifact?.notRun, "denied");
});

test("[ours.sdk.frameworks.ungateable] langchain: without an id of the run or the call, the call does not run", async () => {
  const approvals = new Countersign({
    url: "http://127.0.0.1:1",
    apiKey: "t",
    store: new MemoryStore(),
  });
  const about = { name: "pay", description: "pays", schema: SCHEMA };
  const gated = gateTool(
    tool(() => assert.fail("it ran"), about),
    { approvals },
  );
  const args = { to: "A-1", cents: 5 };
  await assert.rejects(gated.invoke(args), { code: "invalid_option" });
  const call = { type: "tool_call", id: "call_1", name: "pay", args } as const;
  await assert.rejects(gated.invoke(call), { code: "invalid_option" });
});
