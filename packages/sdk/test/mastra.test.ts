// Needs: frameworks
/**
 * The adapter for Mastra, in front of the real framework with a scripted model.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { gateTools } from "@countersign/sdk/mastra";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import {
  approvalsOf,
  frameworkRules,
  type ScriptedRun,
  sharedScene,
} from "./support/framework-rules.ts";
import { scriptedModel, toolResultsOf } from "./support/scripted-ai-model.ts";

const inputSchema = z.object({ to: z.string().trim(), cents: z.number() });
const outputSchema = z.object({ paid: z.string() });

type Model = ConstructorParameters<typeof Agent>[0]["model"];

/** Of another version of the AI SDK's types than those inside of Mastra. */
function asModel(model: ReturnType<typeof scriptedModel>): Model {
  return model as object as Model;
}

type Gated = Omit<ScriptedRun, "calls" | "signal">;

function agentOf(
  { approvals, runId, pay, timeout, onNotRun }: Gated,
  model: ReturnType<typeof scriptedModel>,
): Agent {
  const options = { ...(timeout && { timeout }), ...(onNotRun && { onNotRun }) };
  const made = createTool({
    id: "pay",
    description: "pays",
    inputSchema,
    outputSchema,
    execute: async (input) => ({ paid: pay(input) }),
    toModelOutput: ({ paid }) => ({ type: "text", value: paid }),
  });
  const tools = gateTools({ pay: made }, { approvals, runId, ...options });
  const about = { id: "payer", name: "payer", instructions: "pay" };
  const agent = new Agent({ ...about, model: asModel(model), tools });
  new Mastra({ agents: { payer: agent }, storage: new InMemoryStore(), logger: false });
  return agent;
}

frameworkRules({
  name: "mastra",
  async runAgent(run) {
    const model = scriptedModel(run.calls);
    const signal = run.signal && { abortSignal: run.signal };
    await agentOf(run, model).generate("pay", { ...signal });
    return toolResultsOf(model);
  },
});

const CALLS = [{ id: "call_1", arguments: { to: " A-1", cents: 5 } }];

test("[ours.sdk.frameworks.suspend] mastra: a call that waits suspends the agent, which is resumed from its storage", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const model = scriptedModel(CALLS);
  const paid: string[] = [];
  const pay = ({ to }: { to: string }) => {
    paid.push(to);
    return `paid ${to}`;
  };
  const agent = agentOf({ approvals, runId: "suspended", pay }, model);
  const first = await agent.generate("pay");
  assert.equal(first.finishReason, "suspended");
  assert.deepEqual([first.suspendPayload.toolCallId, paid], ["call_1", []]);
  const { runId = "" } = first;
  const early = await agent.resumeGenerate({}, { runId, toolCallId: "call_1" });
  assert.equal(early.finishReason, "suspended");
  await scene.decideNext("approve");
  const ended = await agent.resumeGenerate({}, { runId, toolCallId: "call_1" });
  assert.equal(ended.text, "done");
  assert.deepEqual([toolResultsOf(model), paid], [["paid A-1"], ["A-1"]]);
});

test("[ours.sdk.frameworks.ungateable] mastra: rejects a tool with an inputSchema that is not idempotent", async () => {
  const scene = await sharedScene();
  const made = createTool({
    id: "pay",
    description: "pays",
    inputSchema: z.object({ to: z.string().transform((to) => `${to}!`), cents: z.number() }),
    execute: async () => assert.fail("it ran"),
  });
  const before = await scene.countRequests();
  const tools = gateTools({ pay: made }, { approvals: approvalsOf(scene), runId: "unstable" });
  const model = scriptedModel(CALLS);
  const about = { id: "payer", name: "payer", instructions: "pay", model: asModel(model), tools };
  await new Agent(about).generate("pay");
  assert.match(toolResultsOf(model)[0] ?? "", /its inputSchema changes its own output/);
  assert.equal(await scene.countRequests(), before);
});

test("[ours.sdk.frameworks.ungateable] mastra: a tool with a date names the path to the program, once for each call", async () => {
  const warnings: string[] = [];
  const approvals = approvalsOf(await sharedScene(), {
    logger: { info: () => {}, warn: (line) => void warnings.push(line) },
  });
  const made = createTool({
    id: "pay",
    description: "pays",
    inputSchema: z.object({ when: z.coerce.date() }),
    execute: async () => assert.fail("it ran"),
  });
  const errors: unknown[] = [];
  const tools = gateTools(
    { pay: made },
    { approvals, runId: "dated", onNotRun: (_, __, error) => void errors.push(error?.message) },
  );
  const context = { agent: { toolCallId: "call_1" } };
  const output = await tools.pay.execute?.({ when: new Date(0) }, context as never);
  assert.equal(Object(output).notRun, "not_submitted");
  const path = /^arguments\.when is a Date, not a plain object/;
  assert.match(String(errors), path);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^Countersign: Tool "pay": .+ arguments\.when is a Date/);
});
