// Needs: frameworks
/**
 * The adapter for LangChain, in front of the real framework with a scripted model.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Countersign, MemoryStore } from "@countersign/sdk";
import { gateTool, gateTools, type NotRun } from "@countersign/sdk/langchain";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { type FakeBuiltModel, fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import {
  approvalsOf,
  frameworkRules,
  type ScriptedCall,
  type ScriptedRun,
  sharedScene,
} from "./support/framework-rules.ts";

const SCHEMA = z.object({ to: z.string().transform((to) => to.trim()), cents: z.number() });

function scripted(calls: readonly ScriptedCall[]): FakeBuiltModel {
  const proposed = calls.map(({ id, arguments: args }) => ({ id, name: "pay", args }));
  const first = new AIMessage({ content: "They asked for it.", tool_calls: proposed });
  return fakeModel().respond(first).respond(new AIMessage("done"));
}

/** The results that the model received for its calls. */
function toolResultsOf(model: FakeBuiltModel): string[] {
  const messages = model.calls.at(-1)?.messages ?? [];
  return messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text);
}

type Gated = Omit<ScriptedRun, "calls" | "signal">;

function toolOf({ approvals, runId, pay, timeout, onNotRun }: Gated) {
  const options = { ...(timeout && { timeout }), ...(onNotRun && { onNotRun }) };
  const about = { name: "pay", description: "pays", schema: SCHEMA };
  return gateTool(
    tool(async (input) => pay(input), about),
    { approvals, runId, ...options },
  );
}

frameworkRules({
  name: "langchain",
  async runAgent(run) {
    const model = scripted(run.calls);
    const agent = createAgent({ model, tools: [toolOf(run)] });
    const signal = run.signal && { signal: run.signal };
    await agent.invoke({ messages: [{ role: "user", content: "pay" }] }, { ...signal });
    return toolResultsOf(model);
  },
});

const CALLS = [
  { id: "call_1", arguments: { to: " A-1", cents: 5 } },
  { id: "call_2", arguments: { to: "B-2", cents: 7 } },
];

test("[ours.sdk.frameworks.suspend] [ours.sdk.frameworks.turn] langchain: calls that wait interrupt the graph, which is resumed from its checkpoint", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const model = scripted(CALLS);
  const paid: string[] = [];
  const pay = ({ to }: { to: string }) => {
    paid.push(to);
    return `paid ${to}`;
  };
  const tools = [toolOf({ approvals, runId: "suspended", pay })];
  const agent = createAgent({ model, tools, checkpointer: new MemorySaver() });
  const thread = { configurable: { thread_id: "t" } };
  const waitingOf = (state: object): { id: string; value: NotRun }[] => {
    return Object(state).__interrupt__ ?? [];
  };
  const resume = async (state: object) => {
    const answers = waitingOf(state).map(({ id }) => [id, true]);
    return agent.invoke(new Command({ resume: Object.fromEntries(answers) }), thread);
  };
  const first = await agent.invoke({ messages: [{ role: "user", content: "pay" }] }, thread);
  const kinds = waitingOf(first).map(({ value }) => value.notRun);
  assert.deepEqual(kinds, ["pending", "pending"]);
  await scene.decideNext("approve");
  const second = await resume(first);
  assert.equal(paid.length, 1);
  // The undecided call waits again.
  assert.equal(waitingOf(second).length, 1);
  await scene.decideNext("approve");
  await resume(second);
  assert.deepEqual(toolResultsOf(model), ["paid A-1", "paid B-2"]);
  assert.deepEqual(paid.toSorted(), ["A-1", "B-2"]);
});

test("[ours.sdk.frameworks.held] langchain: the run is the thread, and what the model wrote is its reasoning", async () => {
  const scene = await sharedScene();
  const made = tool(async ({ to }) => [`paid ${to}`, { to }], {
    name: "pay",
    description: "pays",
    schema: SCHEMA,
    responseFormat: "content_and_artifact",
  });
  const model = scripted(CALLS.slice(0, 1));
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
