// Needs: frameworks
// Process: own
/**
 * The adapter for Mastra, in front of the real framework with a scripted model.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { gateTools } from "@countersign/sdk/mastra";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, sharedScene } from "./support/framework-scene.ts";
import { asModel, framework } from "./support/frameworks/mastra.ts";
import { scriptedModel, toolResultsOf } from "./support/scripted-ai-model.ts";

frameworkRules(framework);

const CALLS = [{ id: "call_1", arguments: { to: " A-1", cents: 5 } }];

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
  assert.match(toolResultsOf(model).call_1 ?? "", /its inputSchema changes its own output/);
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
