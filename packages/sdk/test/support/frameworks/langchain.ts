/**
 * LangChain with LangGraph, for the shared rules of the frameworks.
 */

import { deserialize, serialize } from "node:v8";
import { gateTools, type NotRun } from "@countersign/sdk/langchain";
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type FakeBuiltModel, fakeModel } from "@langchain/core/testing";
import { type StructuredTool, tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { type AgentMiddleware, createAgent } from "langchain";
import { z } from "zod";
import {
  type Framework,
  lookOf,
  type Mode,
  type Outcome,
  type Results,
  settingsOf,
  type Turn,
} from "../framework-description.ts";

export const SCHEMA = z.object({ to: z.string().transform((to) => to.trim()), cents: z.number() });

/** @param isResumed the model has proposed its calls already */
export function scripted(calls: Turn["calls"], isResumed = false): FakeBuiltModel {
  const proposed = calls.map(({ id, tool: name = "pay", arguments: args }) => ({ id, name, args }));
  const first = new AIMessage({ content: "They asked for it.", tool_calls: proposed });
  const model = isResumed ? fakeModel() : fakeModel().respond(first);
  return model.respond(new AIMessage("done"));
}

/** The results that the model received. */
export function toolResultsOf(model: FakeBuiltModel): Results {
  return resultsIn(model.calls.at(-1)?.messages ?? []);
}

function resultsIn(messages: readonly BaseMessage[]): Results {
  const results = messages.filter((message) => ToolMessage.isInstance(message));
  return Object.fromEntries(results.map(({ tool_call_id: id, text }) => [id, text]));
}

export function toolsOf(turn: Turn): StructuredTool[] {
  const look = lookOf(turn);
  const about = { description: "a tool", schema: SCHEMA };
  return [
    tool(async (input) => turn.pay(input), { ...about, name: "pay" }),
    tool(async (input) => look(input), { ...about, name: "look" }),
  ];
}

/** How an agent gates its tools. */
interface Gating {
  readonly tools: StructuredTool[];
  readonly middleware?: AgentMiddleware[];
}

type Gate = (turn: Turn) => Gating;

type Interrupt = { readonly id: string; readonly value: NotRun };

interface Stored {
  readonly storage: MemorySaver["storage"];
  readonly writes: MemorySaver["writes"];
  readonly interrupts: readonly Interrupt[];
}

const THREAD = { configurable: { thread_id: "thread" } };
const START = { messages: [{ role: "user", content: "pay" }] };

async function start(gate: Gate, turn: Turn, mode: Mode, stored?: Stored): Promise<Outcome> {
  const model = scripted(turn.calls, stored !== undefined);
  const checkpointer = new MemorySaver();
  Object.assign(checkpointer, stored && { storage: stored.storage, writes: stored.writes });
  const agent = createAgent({ model, ...gate(turn), checkpointer });
  const resumed = stored?.interrupts.map(({ id }) => [id, true]);
  const input =
    resumed === undefined ? START : new Command({ resume: Object.fromEntries(resumed) });
  const config = { ...THREAD, ...(turn.signal && { signal: turn.signal }) };
  let streamed: Results = {};
  const interrupts: Interrupt[] = [];
  if (mode === "stream") {
    for await (const update of await agent.stream(input, { ...config, streamMode: "updates" })) {
      const nodes = update as Readonly<Record<string, { readonly messages?: BaseMessage[] }>>;
      interrupts.push(...interruptsOf(update));
      for (const { messages = [] } of Object.values(nodes)) {
        streamed = { ...streamed, ...resultsIn(messages) };
      }
    }
  } else {
    interrupts.push(...interruptsOf(await agent.invoke(input, config)));
  }
  const results = toolResultsOf(model);
  if (interrupts.length === 0) return { results, streamed };
  const { storage, writes } = checkpointer;
  const state = serialize({ storage, writes, interrupts } satisfies Stored).toString("base64");
  const graph = await agent.graph.getState(THREAD);
  const answered = Object.keys(resultsIn(graph.values.messages));
  const callIds = turn.calls.map(({ id }) => id).filter((id) => !answered.includes(id));
  return { results, streamed, suspended: { state, callIds } };
}

function interruptsOf(state: object): readonly Interrupt[] {
  return Object(state).__interrupt__ ?? [];
}

/** @param file the name of the module, without `.ts` */
export function frameworkOf(file: string, gate: Gate): Framework {
  return {
    name: "langchain",
    file,
    run: (turn, mode) => start(gate, turn, mode),
    suspension: {
      run: (turn, mode) => start(gate, turn, mode),
      resume: (turn, { state }, mode) => {
        const stored = deserialize(Buffer.from(state, "base64")) as Stored;
        return start(gate, turn, mode, stored);
      },
    },
  };
}

export const framework = frameworkOf("langchain", (turn) => {
  return { tools: gateTools(toolsOf(turn), settingsOf(turn)) };
});
