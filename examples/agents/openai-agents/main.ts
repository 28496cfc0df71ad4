/**
 * An agent of the OpenAI Agents SDK that refunds money after an approval.
 *
 *   npm start
 *
 * A second start continues the same run, in which the tool runs once. For a new run:
 *
 *   npm start -- openai-agents-2
 */

import { Countersign } from "@countersign/sdk";
import { gatedTool } from "@countersign/sdk/openai-agents";
import { Agent, Runner } from "@openai/agents";
import {
  assistantMessage,
  functionCall,
  modelResponder,
  ScriptedModel,
} from "@openai/agents/testing";
import { z } from "zod";

const [runId = "openai-agents-1"] = process.argv.slice(2);
const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY
const refund = gatedTool(
  {
    name: "refund",
    description: "Gives money back",
    parameters: z.object({ order: z.string(), cents: z.number() }),
    execute: async ({ order, cents }) => `${cents} back for ${order}`,
  },
  { approvals, runId },
);

// With a real model: `const model = "gpt-5"`, with OPENAI_API_KEY. This one needs no key.
const model = scriptedModel();
const agent = new Agent({ name: "refunds", model, tools: [refund] });
const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, "500 for A-1.");
console.log(`Run ${runId}: ${finalOutput}`);

/** Calls the tool, then repeats its result. */
function scriptedModel(): ScriptedModel {
  const call = functionCall("refund", { order: "A-1", cents: 500 }, { callId: "call_1" });
  const toolResult = modelResponder(({ request: { input } }) => {
    const last = typeof input === "string" ? undefined : input.at(-1);
    const output = last?.type === "function_call_result" ? last.output : "";
    return [assistantMessage(typeof output === "string" ? output : String(Object(output).text))];
  });
  return new ScriptedModel([[call], toolResult]);
}
