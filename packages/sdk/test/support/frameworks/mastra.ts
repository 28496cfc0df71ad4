/**
 * Mastra, for the shared rules of the frameworks.
 */

import { gateTools, isNotRun } from "@countersign/sdk/mastra";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import {
  type Framework,
  lookOf,
  type Mode,
  type Outcome,
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

function agentOf(turn: Turn, model: ReturnType<typeof scriptedModel>, storage: InMemoryStore) {
  const tools = gateTools(
    { pay: toolOf("pay", turn.pay), look: toolOf("look", lookOf(turn)) },
    settingsOf(turn),
  );
  const about = { id: "payer", name: "payer", instructions: "pay" };
  const agent = new Agent({ ...about, model: asModel(model), tools });
  new Mastra({ agents: { payer: agent }, storage, logger: false });
  return agent;
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

interface Resumed {
  readonly runId: string;
  readonly toolCallId: string;
}

interface Step extends Omit<Outcome, "suspended"> {
  readonly runId: string;
  readonly isSuspended: boolean;
}

/** Starts a run, or resumes one call of it. */
async function step(
  turn: Turn,
  mode: Mode,
  storage: InMemoryStore,
  resumed?: Resumed,
): Promise<Step> {
  const model = scriptedModel(turn.calls);
  const agent = agentOf(turn, model, storage);
  const options = { ...resumed, ...(turn.signal && { abortSignal: turn.signal }) };
  if (mode === "complete") {
    const { finishReason, runId = "" } = await (resumed === undefined
      ? agent.generate("pay", options)
      : agent.resumeGenerate({}, options));
    const isSuspended = finishReason === "suspended";
    return { results: toolResultsOf(model), streamed: {}, runId, isSuspended };
  }
  const { fullStream, runId } = await (resumed === undefined
    ? agent.stream("pay", options)
    : agent.resumeStream({}, options));
  const streamed: Record<string, string> = {};
  let isSuspended = false;
  for await (const chunk of fullStream) {
    if (chunk.type === "error") throw chunk.payload.error;
    if (chunk.type === "tool-call-suspended") isSuspended = true;
    if (chunk.type !== "tool-result") continue;
    const { toolCallId, result } = chunk.payload;
    streamed[toolCallId] = isNotRun(result) ? result.message : Object(result).paid;
  }
  return { results: toolResultsOf(model), streamed, runId, isSuspended };
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
  const { isSuspended, runId, ...outcome } = await step(turn, mode, storage);
  if (!isSuspended) return outcome;
  // `generate` returns only one of the suspended calls.
  const callIds = turn.calls.map(({ id }) => id);
  return { ...outcome, suspended: await save(runId, storage, callIds) };
}

/** Resumes each call. A resumed call that still waits is suspended again. */
async function resume(turn: Turn, { state, callIds }: SuspendedRun, mode: Mode): Promise<Outcome> {
  const { runId, saved } = JSON.parse(state) as Stored;
  const storage = new InMemoryStore();
  const workflows = await workflowsOf(storage);
  for (const each of saved) await workflows.persistWorkflowSnapshot(each);
  const waiting: string[] = [];
  let results = {};
  let streamed = {};
  for (const toolCallId of callIds) {
    try {
      const { isSuspended, ...last } = await step(turn, mode, storage, { runId, toolCallId });
      if (isSuspended) waiting.push(toolCallId);
      results = { ...results, ...last.results };
      streamed = { ...streamed, ...last.streamed };
    } catch (error) {
      // `resumeGenerate` rejects while other calls of the turn wait, although the call ran.
      if (!String(error).includes("'suspendPayload' was not resolved")) throw error;
    }
  }
  if (waiting.length === 0) return { results, streamed };
  return { results, streamed, suspended: await save(runId, storage, waiting) };
}

export const framework: Framework = {
  name: "mastra",
  run: start,
  suspension: { run: start, resume },
};
