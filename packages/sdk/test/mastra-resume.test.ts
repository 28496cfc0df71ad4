// Needs: frameworks
// Process: own
/**
 * Suspended runs of Mastra: waiting calls and their decisions in the approval feature of the
 * framework.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Countersign, MemoryStore } from "@countersign/sdk";
import { gateTools, type MastraTool, type NotRun, resumeRun } from "@countersign/sdk/mastra";
import type { AgentScene } from "@countersign/testing/agent-scene";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { MockMemory } from "@mastra/core/memory";
import { InMemoryStore } from "@mastra/core/storage";
import type { MastraModelOutput } from "@mastra/core/stream";
import { createTool, type ToolExecutionContext } from "@mastra/core/tools";
import { z } from "zod";
import type { Payment, ScriptedCall } from "./support/framework-description.ts";
import { approvalsOf, CALL, neverPays, SECOND, sharedScene } from "./support/framework-scene.ts";
import { asModel } from "./support/frameworks/mastra.ts";
import { scriptedModel, toolResultsOf } from "./support/scripted-ai-model.ts";

const inputSchema = z.object({ to: z.string().trim(), cents: z.number() });
const outputSchema = z.object({ paid: z.string() });

/** @param requireApproval the approval of the framework */
function payTool(pay: (input: Payment) => string, requireApproval = false) {
  return createTool({
    id: "pay",
    description: "pays",
    inputSchema,
    outputSchema,
    requireApproval,
    execute: async (input) => ({ paid: pay(input) }),
    toModelOutput: ({ paid }) => ({ type: "text", value: paid }),
  });
}

function registered(
  model: ReturnType<typeof scriptedModel>,
  tools: { readonly pay: MastraTool },
  memory?: MockMemory,
): Agent {
  const about = { id: "payer", name: "payer", instructions: "pay", ...(memory && { memory }) };
  const agent = new Agent({ ...about, model: asModel(model), tools });
  new Mastra({ agents: { payer: agent }, storage: new InMemoryStore(), logger: false });
  return agent;
}

const CALLS = [CALL, SECOND];

/** An agent that suspends while a call waits. */
async function suspending(runId: string, calls: readonly ScriptedCall[], memory?: MockMemory) {
  const scene = await sharedScene();
  const model = scriptedModel(calls);
  const paid: string[] = [];
  const notRun: NotRun[] = [];
  const made = payTool(({ to }) => {
    paid.push(to);
    return `paid ${to}`;
  });
  const settings = {
    approvals: approvalsOf(scene, { wait: false }),
    onNotRun: (each: NotRun) => void notRun.push(each),
    ...(memory === undefined && { runId }),
  };
  const tools = gateTools({ pay: made }, settings);
  return { scene, model, paid, notRun, tools, agent: registered(model, tools, memory) };
}

test("[ours.sdk.frameworks.suspend] mastra: a waiting call suspends the run as a tool with requireApproval, and its approval continues it", async () => {
  const { scene, model, paid, tools, agent } = await suspending("suspended", [CALL]);
  const first = await agent.generate("pay");
  assert.equal(first.finishReason, "suspended");
  const { runId = "" } = first;
  const { runs } = await agent.listSuspendedRuns({});
  const [waiting] = runs.flatMap(({ toolCalls }) => toolCalls);
  assert.deepEqual([waiting?.toolCallId, waiting?.requiresApproval], ["call_1", true]);
  assert.equal(await resumeRun(agent, tools, { runId }), undefined);
  await scene.decideNext("approve");
  const stream = await resumeRun(agent, tools, { runId });
  assert.equal(await stream?.text, "done");
  assert.deepEqual([toolResultsOf(model), paid], [{ call_1: "paid A-1" }, ["A-1"]]);
});

test("[ours.sdk.frameworks.suspend] mastra: approveToolCall of the framework approves nothing", async () => {
  const { scene, model, paid, agent } = await suspending("early", [CALL]);
  const { runId = "" } = await agent.generate("pay");
  const target = { runId, toolCallId: "call_1" };
  const early = await agent.approveToolCallGenerate(target);
  assert.deepEqual([early.finishReason, paid], ["suspended", []]);
  await scene.decideNext("deny", { note: "Not that customer." });
  await agent.approveToolCallGenerate(target);
  assert.deepEqual(toolResultsOf(model), {
    call_1: "This call was denied: Not that customer.",
  });
  assert.deepEqual(paid, []);
});

test("[ours.sdk.frameworks.suspend] [ours.sdk.frameworks.words] mastra: a denied call is declined in the framework with the note", async () => {
  const { scene, model, paid, notRun, tools, agent } = await suspending("declined", CALLS);
  const { runId = "" } = await agent.generate("pay");
  await decide(scene, "A-1", "approve");
  // The run continues when the last call of the turn is decided.
  assert.equal(await resumeRun(agent, tools, { runId }), undefined);
  assert.deepEqual(paid, ["A-1"]);
  await decide(scene, "B-2", "deny", { note: "Not that customer." });
  const stream = await resumeRun(agent, tools, { runId });
  assert.equal(await stream?.text, "done");
  const reason = "This call was denied: Not that customer.";
  assert.deepEqual(toolResultsOf(model), { call_1: "paid A-1", call_2: reason });
  assert.deepEqual(paid, ["A-1"]);
  assert.deepEqual(notRun.at(-1)?.notRun, "denied");
  const declined = stream?.messageList.get.all.db().flatMap(({ content }) => content.parts);
  const states = declined?.flatMap((part) => {
    return part.type === "tool-invocation" ? [part.toolInvocation] : [];
  });
  const approval = Object(states?.find((state) => state.toolCallId === "call_2")).approval;
  assert.deepEqual(approval, { id: "call_2", approved: false, reason });
});

test("[ours.sdk.frameworks.suspend] mastra: a streamed run reports the approval request of each waiting call, and streams the rest", async () => {
  const { scene, model, tools, agent } = await suspending("streamed", CALLS);
  const first = await agent.stream("pay");
  assert.deepEqual(await callsIn(first, "tool-call-approval"), ["call_1", "call_2"]);
  for (const _ of CALLS) await scene.decideNext("approve");
  const stream = await resumeRun(agent, tools, { runId: first.runId });
  assert.ok(stream !== undefined);
  assert.deepEqual(await callsIn(stream, "tool-result"), ["call_1", "call_2"]);
  assert.equal(await stream.text, "done");
  assert.deepEqual(toolResultsOf(model), { call_1: "paid A-1", call_2: "paid B-2" });
});

test("[ours.sdk.frameworks.suspend] mastra: without runId, a suspended run is the thread of the memory", async () => {
  const { scene, model, tools, agent } = await suspending("", [CALL], new MockMemory());
  const before = await scene.countRequests();
  const memory = { thread: "thread 9", resource: "user 1" };
  const { runId = "" } = await agent.generate("pay", { memory });
  const id = await scene.nextPending();
  const { context } = await scene.server.read(scene.token, id);
  assert.equal(Object(context).session_id, "thread 9");
  await scene.server.decide(scene.reviewer, id, "approve");
  const stream = await resumeRun(agent, tools, { runId, memory });
  assert.equal(await stream?.text, "done");
  assert.deepEqual(toolResultsOf(model), { call_1: "paid A-1" });
  assert.equal(await scene.countRequests(), before + 1);
});

test("[ours.sdk.frameworks.suspend] mastra: resumeRun does not answer the approval request of an ungated tool", async () => {
  const scene = await sharedScene();
  const before = await scene.countRequests();
  const model = scriptedModel([CALL]);
  const tools = { pay: payTool(neverPays, true) };
  const agent = registered(model, tools);
  const { runId = "" } = await agent.generate("pay");
  assert.equal(await resumeRun(agent, tools, { runId }), undefined);
  assert.equal((await agent.listSuspendedRuns({})).runs.length, 1);
  assert.equal(await scene.countRequests(), before);
});

test("[ours.sdk.frameworks.suspend] mastra: resumeRun rejects an unknown run, and a call stays suspended during an outage", async () => {
  const { scene, tools, agent } = await suspending("unreachable", [CALL]);
  await assert.rejects(resumeRun(agent, tools, { runId: "other" }), { code: "invalid_call" });
  const { runId = "" } = await agent.generate("pay");
  const cut = gateTools(
    { pay: payTool(neverPays) },
    { approvals: unreachable(), runId: "unreachable" },
  );
  assert.equal(await resumeRun(agent, cut, { runId }), undefined);
  assert.equal((await agent.listSuspendedRuns({})).runs.length, 1);
  await scene.decideNext("approve");
  const stream = await resumeRun(agent, tools, { runId });
  assert.equal(await stream?.text, "done");
});

/** The ids of the calls with such a chunk. */
async function callsIn(output: MastraModelOutput<unknown>, type: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const chunk of output.fullStream) {
    if (chunk.type === type) ids.push(Object(Object(chunk).payload).toolCallId);
  }
  return ids;
}

/** Decides the waiting call that pays `to`. */
async function decide(
  { server, token, reviewer }: AgentScene,
  to: string,
  verdict: "approve" | "deny",
  fields?: object,
): Promise<void> {
  const path = "/review/v1/requests?state=pending";
  const { json } = await server.call<{ requests: { id: string }[] }>("GET", path, {
    token: reviewer,
  });
  for (const { id } of json.requests) {
    const { arguments: submitted } = await server.read(token, id);
    if (Object(submitted).to === to)
      return void (await server.decide(reviewer, id, verdict, fields));
  }
  assert.fail(`No call for ${to} waits.`);
}

test("[ours.sdk.frameworks.suspend] mastra: a call of a sub-agent suspends the outer run, and approveToolCall of the outer agent continues it", async () => {
  const { scene, paid, agent: inner } = await suspending("inner", [CALL]);
  const delegation = { id: "call_outer", tool: "agent-payer", arguments: { prompt: "pay" } };
  const model = scriptedModel([delegation as object as ScriptedCall]);
  const about = { id: "outer", name: "outer", instructions: "delegate", model: asModel(model) };
  const outer = new Agent({ ...about, agents: { payer: inner } });
  const agents = { outer, payer: inner };
  new Mastra({ agents, storage: new InMemoryStore(), logger: false });
  const { fullStream, runId } = await outer.stream("pay");
  for await (const _ of fullStream);
  await scene.decideNext("approve");
  const before = await scene.countRequests();
  const stream = await outer.approveToolCall({ runId, toolCallId: "call_outer" });
  assert.equal(await stream.text, "done");
  assert.deepEqual(paid, ["A-1"]);
  assert.equal(await scene.countRequests(), before);
});

const QUESTION = { question: "Which account?" };

/** The ways of a tool to suspend itself. */
const suspensions: Readonly<Record<string, (context: ToolExecutionContext) => unknown>> = {
  suspend: (context) => context.suspend?.(QUESTION),
  "agent.suspend": (context) => context.agent?.suspend(QUESTION),
};

for (const [by, suspend] of Object.entries(suspensions)) {
  test(`[ours.sdk.frameworks.ungateable] mastra: a gated tool that suspends itself with ${by} starts without resume data and fails with the reason`, async () => {
    const scene = await sharedScene();
    const resumeData: unknown[] = [];
    const made = createTool({
      id: "pay",
      description: "pays",
      inputSchema,
      suspendSchema: z.object({ question: z.string() }),
      execute: async (_, context) => {
        resumeData.push(context?.resumeData, context?.agent?.resumeData);
        await suspend(context as ToolExecutionContext);
      },
    });
    const settings = { approvals: approvalsOf(scene, { wait: false }), runId: by };
    const tools = gateTools({ pay: made }, settings);
    const model = scriptedModel([CALL]);
    const agent = registered(model, tools);
    const { runId = "" } = await agent.generate("pay");
    await scene.decideNext("approve");
    const stream = await resumeRun(agent, tools, { runId });
    assert.equal(await stream?.text, "done");
    assert.match(toolResultsOf(model).call_1 ?? "", /Cannot gate tool pay: it suspends itself/);
    assert.deepEqual(resumeData, [undefined, undefined]);
    assert.deepEqual((await agent.listSuspendedRuns({})).runs, []);
  });
}

test("[ours.sdk.frameworks.ungateable] mastra: rejects a tool with its own requireApproval", () => {
  const settings = { approvals: unreachable(), runId: "both" };
  assert.throws(() => gateTools({ pay: payTool(neverPays, true) }, settings), {
    code: "invalid_option",
    message: /its own requireApproval/,
  });
});

function unreachable(): Countersign {
  return new Countersign({
    url: "http://127.0.0.1:1",
    apiKey: "t",
    retryFor: "1ms",
    store: new MemoryStore(),
    logger: false,
    wait: false,
  });
}
