/**
 * The OpenAI Agents SDK, for the shared rules of the frameworks.
 */

import { gatedTool, gateTools, resumeState } from "@countersign/sdk/openai-agents";
import { Agent, Runner, RunState, tool } from "@openai/agents";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing";
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

export const PARAMETERS = z.object({ to: z.string().trim(), cents: z.number() });

export const runner = new Runner({ tracingDisabled: true });

/** @param isResumed the model has proposed its calls already */
export function scripted(calls: Turn["calls"], isResumed = false): ScriptedModel {
  const proposed = calls.map(({ id, tool: name = "pay", arguments: args }) => {
    return functionCall(name, { ...args }, { callId: id });
  });
  const last = [assistantMessage("done")];
  return new ScriptedModel(isResumed ? [last] : [proposed, last]);
}

/** The results that the model received. */
export function toolResultsOf(model: ScriptedModel): Results {
  const input = model.lastCall?.request.input ?? [];
  if (typeof input === "string") return {};
  return Object.fromEntries(
    input.flatMap((item) => {
      return item.type === "function_call_result" ? [[item.callId, textOf(item.output)]] : [];
    }),
  );
}

function textOf(output: unknown): string {
  return typeof output === "string" ? output : String(Object(output).text);
}

function optionsOf(name: string, act: Turn["pay"]) {
  return {
    name,
    description: name,
    parameters: PARAMETERS,
    execute: async (input: z.infer<typeof PARAMETERS>) => act(input),
  };
}

/** `gatedTool` creates tools, so it cannot read `only` and `except`. */
export function agentOf(turn: Turn, model: ScriptedModel): Agent {
  const settings = settingsOf(turn);
  const options = [optionsOf("pay", turn.pay), optionsOf("look", lookOf(turn))];
  const isSelecting = turn.only !== undefined || turn.except !== undefined;
  const tools = isSelecting
    ? gateTools(
        options.map((each) => tool(each)),
        settings,
      )
    : options.map((each) => gatedTool(each, settings));
  return new Agent({ name: "payer", model, tools });
}

type Input = string | RunState<unknown, Agent>;

async function start(turn: Turn, mode: Mode, given?: string): Promise<Outcome> {
  const model = scripted(turn.calls, given !== undefined);
  const agent = agentOf(turn, model);
  const input: Input =
    given === undefined ? "pay" : await resumeState(await RunState.fromString(agent, given));
  const streamed: Record<string, string> = {};
  const options = { ...(turn.signal && { signal: turn.signal }) };
  let result: { interruptions: readonly { rawItem: object }[]; state: object };
  if (mode === "stream") {
    const running = await runner.run(agent, input, { ...options, stream: true });
    for await (const event of running) {
      if (event.type !== "run_item_stream_event" || event.name !== "tool_output") continue;
      const { rawItem } = event.item;
      if (rawItem?.type === "function_call_result") {
        streamed[rawItem.callId] = textOf(rawItem.output);
      }
    }
    await running.completed;
    result = running;
  } else {
    result = await runner.run(agent, input, options);
  }
  const results = toolResultsOf(model);
  const callIds = result.interruptions.map(({ rawItem }) => String(Object(rawItem).callId));
  if (callIds.length === 0) return { results, streamed };
  return { results, streamed, suspended: { state: String(result.state), callIds } };
}

export const framework: Framework = {
  name: "openai-agents",
  run: (turn, mode) => start(turn, mode),
  suspension: {
    run: (turn, mode) => start(turn, mode),
    resume: (turn, { state }, mode) => start(turn, mode, state),
  },
};
