// Needs: frameworks
// Process: own
/**
 * Graphs of LangGraph that are resumed while calls of one turn are in different states. A
 * `ToolNode` repeats the whole turn, `createAgent` only the calls that waited.
 */

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ConsumptionStore, Countersign } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import { countersignMiddleware, gateTools } from "@countersign/sdk/langchain";
import { temporaryFolder } from "@countersign/testing/child";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createReactAgent, ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import { z } from "zod";
import { enforce, policyOf } from "../../server/test/support/policies.ts";
import { approvalsOf, sharedScene } from "./support/framework-scene.ts";

const KINDS = [
  "createAgent",
  "countersignMiddleware",
  "createReactAgent",
  "createReactAgent v2",
  "ToolNode",
] as const;
type Kind = (typeof KINDS)[number];

/** The common part of all graphs. */
interface Graph {
  invoke(input: object | null, config: object): Promise<object>;
}

const schema = z.object({ order: z.string() });

interface ScriptedCall {
  readonly name: string;
  readonly order: string;
  /** Default: by position. */
  readonly id?: string;
}

interface Scripted {
  readonly kind: Kind;
  readonly approvals: Countersign;
  readonly runId: string;
  readonly calls: readonly ScriptedCall[];
}

/** An agent whose model proposes the calls in one turn, then repeats what it was given. */
function agentOf({ kind, approvals, runId, calls }: Scripted) {
  const ran: string[] = [];
  const act = (name: string) => {
    const perform = async ({ order }: { order: string }) => {
      ran.push(`${name} ${order}`);
      // A tool may return more than text.
      return name === "refund" ? `refunded ${order}` : { order, items: [3, null] };
    };
    return tool(perform, { name, description: name, schema });
  };
  const tools = [act("lookup"), act("refund")];
  const proposed = calls.map(({ name, order, id }, i) => {
    return { id: id ?? `call_${i}`, name, args: { order } };
  });
  const llm = fakeModel()
    .respond(new AIMessage({ content: "", tool_calls: proposed }))
    .respond((messages) => {
      const results = messages.filter((each) => ToolMessage.isInstance(each));
      return new AIMessage(results.map(({ text }) => text).join(" | "));
    });
  if (kind === "countersignMiddleware") {
    const middleware = [countersignMiddleware({ approvals, runId })];
    const checkpointer = new MemorySaver();
    const graph = createAgent({ model: llm, tools, middleware, checkpointer }) as object as Graph;
    return { graph, ran };
  }
  return { graph: graphOf(kind, llm, gateTools(tools, { approvals, runId })), ran };
}

function graphOf(
  kind: Exclude<Kind, "countersignMiddleware">,
  llm: ReturnType<typeof fakeModel>,
  tools: ReturnType<typeof gateTools>,
): Graph {
  const checkpointer = new MemorySaver();
  if (kind === "createAgent") {
    return createAgent({ model: llm, tools: [...tools], checkpointer }) as object as Graph;
  }
  if (kind === "ToolNode") {
    const model = llm.bindTools([...tools]);
    return new StateGraph(MessagesAnnotation)
      .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode("tools", new ToolNode([...tools]))
      .addEdge("__start__", "agent")
      .addConditionalEdges("agent", toolsCondition)
      .addEdge("tools", "agent")
      .compile({ checkpointer }) as object as Graph;
  }
  const options = { llm, tools: [...tools], checkpointSaver: checkpointer };
  const version = kind === "createReactAgent v2" ? ({ version: "v2" } as const) : {};
  return createReactAgent({ ...options, ...version } as never) as object as Graph;
}

function interruptsOf(state: object): { readonly id: string }[] {
  return Object(state).__interrupt__ ?? [];
}

function lastText(state: object): string {
  return Object(state).messages.at(-1).text;
}

async function sceneWith(t: TestContext, store: ConsumptionStore) {
  const scene = await sharedScene();
  await enforce(scene.server, policyOf("{ id: looks, match: { tool: lookup }, then: approve }"));
  return {
    scene,
    approvals: approvalsOf(scene, {
      wait: false,
      store,
      logger: { info: () => {}, warn: (line) => t.diagnostic(line) },
    }),
  };
}

const START = { messages: [{ role: "user", content: "go" }] };

for (const kind of KINDS) {
  const runId = `resume ${kind}`;
  const thread = { configurable: { thread_id: kind } };

  test(`[ours.sdk.frameworks.results] ${kind}: the result of a call that policy approved at once is kept while another one waits`, async (t) => {
    const folder = join(temporaryFolder(t), "uses");
    const { scene, approvals } = await sceneWith(t, new FileStore(folder));
    const calls = [
      { name: "lookup", order: "A" },
      { name: "refund", order: "B" },
    ];
    const { graph, ran } = agentOf({ kind, approvals, runId: `${runId} 1`, calls });
    const first = await graph.invoke(START, thread);
    assert.equal(interruptsOf(first).length, 1);
    await scene.decideNext("approve");
    const second = await graph.invoke(null, thread);
    assert.equal(lastText(second), '{"order":"A","items":[3,null]} | refunded B');
    assert.deepEqual(ran, ["lookup A", "refund B"]);
    for (const name of readdirSync(folder)) {
      assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name);
    }
  });

  test(`[ours.sdk.frameworks.results] ${kind}: of two calls that wait, the one that is decided first keeps its result`, async (t) => {
    const { scene, approvals } = await sceneWith(t, new FileStore(temporaryFolder(t)));
    const calls = [
      { name: "refund", order: "A" },
      { name: "refund", order: "B" },
    ];
    const { graph, ran } = agentOf({ kind, approvals, runId: `${runId} 2`, calls });
    let state = await graph.invoke(START, thread);
    for (let i = 0; i < calls.length; i++) {
      assert.ok(interruptsOf(state).length > 0);
      await scene.decideNext("approve");
      state = await graph.invoke(null, thread);
      assert.equal(ran.length, i + 1);
    }
    assert.equal(lastText(state), "refunded A | refunded B");
  });

  test(`[ours.sdk.frameworks.results] ${kind}: a call that started and has no result is not run again`, async (t) => {
    const { approvals } = await sceneWith(t, new FileStore(temporaryFolder(t)));
    const call = { name: "lookup", order: "A" };
    const session = { runtime: "langchain", session_id: `${runId} 3`, call_id: "call_0" };
    const key = `${encodeURIComponent(`${runId} 3`)}/call_0`;
    const started = {
      idempotencyKey: key,
      tool: "lookup",
      arguments: { order: "A" },
      context: session,
    };
    assert.equal((await approvals.check(started)).status, "approved");
    const { graph, ran } = agentOf({ kind, approvals, runId: `${runId} 3`, calls: [call] });
    const state = await graph.invoke(START, thread);
    assert.match(lastText(state), /^The approval of this call was used before/);
    assert.deepEqual(ran, []);
  });
}

test("[ours.sdk.frameworks.results] a call with the id of an earlier call and other arguments does not receive the saved result", async (t) => {
  const { scene, approvals } = await sceneWith(t, new FileStore(temporaryFolder(t)));
  const results: string[] = [];
  for (const order of ["A", "B"]) {
    const thread = { configurable: { thread_id: order } };
    const calls = [{ name: "refund", order }];
    const { graph } = agentOf({ kind: "ToolNode", approvals, runId: "reused id", calls });
    let state = await graph.invoke(START, thread);
    if (order === "A") {
      await scene.decideNext("approve");
      state = await graph.invoke(null, thread);
    }
    results.push(lastText(state));
  }
  assert.equal(results[0], "refunded A");
  assert.match(results[1] ?? "", /idempotency_conflict/);
});

test("[ours.sdk.frameworks.words] [ours.sdk.frameworks.results] with wait: false, the model receives the reason if the key of a call is too long", async (t) => {
  const { approvals } = await sceneWith(t, new FileStore(temporaryFolder(t)));
  const calls = [{ name: "refund", order: "A", id: "x".repeat(1_100) }];
  const { graph, ran } = agentOf({ kind: "ToolNode", approvals, runId: "long key", calls });
  const state = await graph.invoke(START, { configurable: { thread_id: "long key" } });
  assert.match(lastText(state), /^This call cannot be submitted for approval, so it was not run:/);
  assert.deepEqual(ran, []);
});

test("[ours.sdk.frameworks.results] with wait: false, a run of a call uses the functions of the options once", async (t) => {
  const { approvals } = await sceneWith(t, new FileStore(temporaryFolder(t)));
  const used: string[] = [];
  const note = (name: string) => {
    used.push(name);
    return name;
  };
  const lookup = tool(async ({ order }) => order, { name: "lookup", description: "", schema });
  const [gated] = gateTools([lookup], {
    approvals,
    runId: () => note("once"),
    context: () => ({ from: note("context") }),
    reasoning: () => note("reasoning"),
  });
  const call = { name: "lookup", args: { order: "A" }, id: "call_0", type: "tool_call" } as const;
  const result: ToolMessage | undefined = await gated?.invoke(call);
  assert.equal(result?.content, "A");
  assert.deepEqual(used, ["once", "context", "reasoning"]);
});
