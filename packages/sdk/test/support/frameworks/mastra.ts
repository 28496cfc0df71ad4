/**
 * Mastra, for the shared rules of the frameworks.
 */

import { gateTools, isNotRun, resumeRun } from "@countersign/sdk/mastra";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import type { MastraModelOutput } from "@mastra/core/stream";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import {
  type Framework,
  lookOf,
  type Mode,
  type Outcome,
  type Results,
  type SuspendedRun,
  settingsOf,
  type Turn,
} from "../framework-description.ts";
import { scriptedModel, toolResultsOf } from "../scripted-ai-model.ts";

const inputSchema = z.object({ to: z.string().trim(), cents: z.number() });
const outputSchema = z.object({ paid: z.string() });

export type Model = ConstructorParameters<typeof Agent>[0]["model"];

/** Of another version of the AI SDK's types than those inside of Mastra. */
export function asModel(model: ReturnType<typeof scriptedModel>): Model {
  return model as object as Model;
}

function toolOf(id: string, act: Turn["pay"]) {
  return createTool({
    id,
    description: id,
    inputSchema,
    outputSchema,
    execute: async (input) => ({ paid: act(input) }),
    toModelOutput: ({ paid }) => ({ type: "text", value: paid }),
  });
}

function agentOf(turn: Turn, storage: InMemoryStore) {
  const model = scriptedModel(turn.calls);
  const tools = gateTools(
    { pay: toolOf("pay", turn.pay), look: toolOf("look", lookOf(turn)) },
    settingsOf(turn),
  );
  const about = { id: "payer", name: "payer", instructions: "pay" };
  const agent = new Agent({ ...about, model: asModel(model), tools });
  new Mastra({ agents: { payer: agent }, storage, logger: false });
  return { agent, tools, model };
}

async function workflowsOf(storage: InMemoryStore) {
  const workflows = await storage.getStore("workflows");
  if (workflows === undefined) throw new Error("InMemoryStore has no workflows.");
  return workflows;
}

type Workflows = Awaited<ReturnType<typeof workflowsOf>>;
type Saved = Parameters<Workflows["persistWorkflowSnapshot"]>[0];

interface Stored {
  readonly runId: string;
  readonly saved: readonly Saved[];
}

interface Streamed {
  readonly streamed: Results;
  readonly isSuspended: boolean;
}

async function read({ fullStream }: MastraModelOutput<undefined>): Promise<Streamed> {
  const streamed: Record<string, string> = {};
  let isSuspended = false;
  for await (const chunk of fullStream) {
    if (chunk.type === "error") throw chunk.payload.error;
    if (chunk.type === "tool-call-approval") isSuspended = true;
    if (chunk.type !== "tool-result") continue;
    const { toolCallId, result } = chunk.payload;
    streamed[toolCallId] = isNotRun(result) ? result.message : Object(result).paid;
  }
  return { streamed, isSuspended };
}

async function save(
  runId: string,
  storage: InMemoryStore,
  callIds: readonly string[],
): Promise<SuspendedRun> {
  const { runs } = await (await workflowsOf(storage)).listWorkflowRuns();
  const saved = runs.map(({ workflowName, runId: id, snapshot }) => {
    return { workflowName, runId: id, snapshot: snapshot as Saved["snapshot"] };
  });
  return { state: JSON.stringify({ runId, saved } satisfies Stored), callIds };
}

async function start(turn: Turn, mode: Mode): Promise<Outcome> {
  const storage = new InMemoryStore();
  const { agent, model } = agentOf(turn, storage);
  const options = turn.signal && { abortSignal: turn.signal };
  let runId: string | undefined;
  let streamed: Results = {};
  let isSuspended: boolean;
  if (mode === "complete") {
    const output = await agent.generate("pay", { ...options });
    runId = output.runId;
    isSuspended = output.finishReason === "suspended";
  } else {
    const output = await agent.stream("pay", { ...options });
    runId = output.runId;
    ({ streamed, isSuspended } = await read(output));
  }
  const results = toolResultsOf(model);
  if (!isSuspended) return { results, streamed };
  return { results, streamed, suspended: await save(runId ?? "", storage, await waiting(agent)) };
}

async function waiting(agent: Agent): Promise<string[]> {
  const { runs } = await agent.listSuspendedRuns({});
  return runs.flatMap(({ toolCalls }) => toolCalls).map(({ toolCallId = "" }) => toolCallId);
}

/** The continued run is always a stream. */
async function resume(turn: Turn, { state }: SuspendedRun): Promise<Outcome> {
  const { runId, saved } = JSON.parse(state) as Stored;
  const storage = new InMemoryStore();
  const workflows = await workflowsOf(storage);
  for (const each of saved) await workflows.persistWorkflowSnapshot(each);
  const { agent, tools, model } = agentOf(turn, storage);
  const stream = await resumeRun(agent, tools, { runId });
  const { streamed } = stream === undefined ? { streamed: {} } : await read(stream);
  const results = toolResultsOf(model);
  if (stream !== undefined) return { results, streamed };
  return { results, streamed, suspended: await save(runId, storage, await waiting(agent)) };
}

export const framework: Framework = {
  name: "mastra",
  run: start,
  suspension: { run: start, resume },
};
