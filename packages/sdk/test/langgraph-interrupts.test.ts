// Needs: frameworks
// Process: own
/**
 * Gated tools beside tools that interrupt the graph themselves, and gated tools that interrupt it
 * while they run.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { gateTool, gateTools, isNotRun, type LangChainOptions } from "@countersign/sdk/langchain";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { type StructuredTool, tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import { z } from "zod";
import { approvalsOf, sharedScene } from "./support/framework-scene.ts";

const START = { messages: [{ role: "user", content: "go" }] };
const schema = z.object({});

/** Proposes one call of each tool in one turn, then repeats the results. */
function modelOf(names: readonly string[]) {
  const proposed = names.map((name) => ({ id: `call_${name}`, name, args: {} }));
  return fakeModel()
    .respond(new AIMessage({ content: "", tool_calls: proposed }))
    .respond((messages) => {
      const results = messages.filter((message) => ToolMessage.isInstance(message));
      return new AIMessage(results.map(({ text }) => text).join(" | "));
    });
}

/** A graph that runs all calls of a turn in one step. */
function agentOf(tools: readonly StructuredTool[], checkpointer?: MemorySaver) {
  const llm = modelOf(tools.map(({ name }) => name));
  const saver = checkpointer && { checkpointSaver: checkpointer };
  return createReactAgent({ llm, tools: [...tools], ...saver });
}

function interruptsOf(state: object): readonly { readonly id: string; readonly value: unknown }[] {
  return Object(state).__interrupt__ ?? [];
}

function lastText(state: { readonly messages: readonly { readonly text: string }[] }): string {
  return state.messages.at(-1)?.text ?? "";
}

function threadOf(name: string) {
  return { configurable: { thread_id: name } };
}

function payTool() {
  return tool(async () => "paid", { name: "pay", description: "pays", schema });
}

/** An ungated tool with a sub-agent that calls a gated tool. */
function delegatesTo(settings: LangChainOptions) {
  const agent = createAgent({ model: modelOf(["pay"]), tools: gateTools([payTool()], settings) });
  const delegate = async () => lastText(await agent.invoke(START));
  return tool(delegate, { name: "delegate", description: "delegates", schema });
}

const resumptions = {
  null: () => null,
  "the id of the interrupt": (id: string) => new Command({ resume: { [id]: true } }),
};

for (const [by, answer] of Object.entries(resumptions)) {
  test(`[ours.sdk.frameworks.suspend] langchain: resuming an approved call with ${by} does not answer the interrupt of another tool`, async () => {
    const scene = await sharedScene();
    const approvals = approvalsOf(scene, { wait: false });
    const pay = gateTool(payTool(), { approvals, runId: `answer by ${by}` });
    const waits = new AbortController();
    const ask = tool(
      async () => {
        // The other call suspends the turn first.
        if (!waits.signal.aborted) await once(waits.signal, "abort");
        return `answered ${interrupt("Which account?")}`;
      },
      { name: "ask", description: "asks", schema },
    );
    const agent = agentOf([pay, ask], new MemorySaver());
    const thread = threadOf(`answer by ${by}`);
    const first = await agent.invoke(START, thread);
    const [waiting] = interruptsOf(first);
    assert.ok(waiting !== undefined && isNotRun(waiting.value));
    await scene.decideNext("approve");
    waits.abort();
    const second = await agent.invoke(answer(waiting.id) as never, thread);
    const [question] = interruptsOf(second);
    assert.equal(question?.value, "Which account?");
    const third = await agent.invoke(new Command({ resume: "savings" }), thread);
    assert.equal(lastText(third), "paid | answered savings");
  });
}

for (const wait of [true, false]) {
  test(`[ours.sdk.frameworks.ungateable] langchain: with wait: ${wait}, a gated tool that interrupts the graph fails with the reason`, async () => {
    const scene = await sharedScene();
    const approvals = approvalsOf(scene, { wait });
    const made = tool(async () => String(interrupt("Which account?")), {
      name: "pay",
      description: "pays",
      schema,
    });
    const gated = gateTool(made, { approvals, runId: `interrupting ${wait}` });
    const agent = agentOf([gated], new MemorySaver());
    const thread = threadOf(`interrupting ${wait}`);
    const started = agent.invoke(START, thread);
    if (!wait) await started;
    await scene.decideNext("approve");
    const ended = wait ? await started : await agent.invoke(null, thread);
    assert.deepEqual(interruptsOf(ended), []);
    assert.match(lastText(ended), /Cannot gate tool pay: it interrupts the graph/);
  });
}

test("[ours.sdk.frameworks.ungateable] langchain: a gated tool with a sub-agent that suspends its own call fails with the reason", async () => {
  const scene = await sharedScene();
  const settings = { approvals: approvalsOf(scene, { wait: false }), runId: "nested" };
  const agent = agentOf(gateTools([delegatesTo(settings)], settings), new MemorySaver());
  const thread = threadOf("nested");
  await agent.invoke(START, thread);
  await scene.decideNext("approve");
  const ended = await agent.invoke(null, thread);
  assert.match(lastText(ended), /Cannot gate tool delegate: it interrupts the graph/);
  await scene.decideNext("deny");
});

test("[ours.sdk.frameworks.suspend] langchain: an ungated tool with a sub-agent continues after the approval of the inner call", async () => {
  const scene = await sharedScene();
  const settings = { approvals: approvalsOf(scene, { wait: false }), runId: "ungated outer" };
  const agent = agentOf([delegatesTo(settings)], new MemorySaver());
  const thread = threadOf("ungated outer");
  const first = await agent.invoke(START, thread);
  assert.ok(isNotRun(interruptsOf(first)[0]?.value));
  await scene.decideNext("approve");
  assert.equal(lastText(await agent.invoke(null, thread)), "paid");
});

test("[ours.sdk.frameworks.ungateable] langchain: with wait: false, a waiting call of a graph without a checkpointer fails with the reason", async () => {
  const scene = await sharedScene();
  const settings = { approvals: approvalsOf(scene, { wait: false }), runId: "no checkpointer" };
  const ended = await agentOf([gateTool(payTool(), settings)]).invoke(START);
  assert.match(lastText(ended), /the graph needs a checkpointer/);
  await scene.decideNext("deny");
});
