// Needs: frameworks
// Process: own
/**
 * The adapter for the OpenAI Agents SDK, in front of the real framework with a scripted model.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Countersign, DevelopmentProvider, MemoryStore } from "@countersign/sdk";
import { gatedTool, gateTools, resumeState } from "@countersign/sdk/openai-agents";
import {
  Agent,
  type FunctionTool,
  RunContext,
  RunState,
  tool,
  webSearchTool,
} from "@openai/agents";
import { z } from "zod";
import type { Payment } from "./support/framework-description.ts";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, neverPays, payments, sharedScene } from "./support/framework-scene.ts";
import {
  agentOf,
  framework,
  PARAMETERS,
  runner,
  scripted,
  toolResultsOf,
} from "./support/frameworks/openai-agents.ts";

frameworkRules(framework);

const CALLS = [{ id: "call_1", arguments: { to: " A-1", cents: 5 } }];

test("[ours.sdk.frameworks.suspend] openai-agents: gateTools suspends a run again while one of its calls waits", async () => {
  const scene = await sharedScene();
  const gating = { approvals: approvalsOf(scene, { wait: false }), runId: "partial gateTools" };
  const paid: string[] = [];
  const pays = tool({
    name: "pay",
    description: "pays",
    parameters: PARAMETERS,
    execute: async ({ to }) => {
      paid.push(to);
      return `paid ${to}`;
    },
  });
  const calls = [...CALLS, { id: "call_2", arguments: { to: "B-2", cents: 7 } }];
  const model = scripted(calls);
  const agent = new Agent({ name: "payer", model, tools: gateTools([pays], gating) });
  const first = await runner.run(agent, "pay");
  assert.equal(first.interruptions.length, 2);
  let kept = first.state.toString();
  const resume = async () => {
    await scene.decideNext("approve");
    const restored = await resumeState(await RunState.fromString(agent, kept));
    const { state, interruptions } = await runner.run(agent, restored);
    kept = state.toString();
    return interruptions.length;
  };
  assert.equal(await resume(), 1);
  assert.equal(await resume(), 0);
  assert.deepEqual(toolResultsOf(model), { call_1: "paid A-1", call_2: "paid B-2" });
  assert.deepEqual(paid.toSorted(), ["A-1", "B-2"]);
});

test("[ours.sdk.frameworks.ungateable] openai-agents: with wait false, a tool with its own need for approval is rejected", async () => {
  const scene = await sharedScene();
  const before = await scene.countRequests();
  const approvals = approvalsOf(scene, { wait: false });
  const gating = { approvals, runId: "own need" };
  const message = /Cannot gate tool pay: it has its own needsApproval/;
  const execute = async () => neverPays();
  const pay = { name: "pay", description: "pays", parameters: PARAMETERS, execute };
  for (const needsApproval of [true, async () => true]) {
    assert.throws(() => gatedTool({ ...pay, needsApproval }, gating), {
      code: "invalid_option",
      message,
    });
    // An existing tool states its need only for a call.
    const tools = gateTools([tool({ ...pay, needsApproval })], gating);
    const agent = new Agent({ name: "payer", model: scripted(CALLS), tools });
    await assert.rejects(runner.run(agent, "pay"), { message });
  }
  assert.equal(await scene.countRequests(), before);
});

test("[ours.sdk.frameworks.held] openai-agents: a tool with its own need for approval waits for its reviewer after the app approves", async () => {
  const scene = await sharedScene();
  const before = await scene.countRequests();
  const { inputs, pay } = payments();
  const options = {
    name: "pay",
    description: "pays",
    parameters: PARAMETERS,
    needsApproval: true,
    execute: async (input: Payment) => pay(input),
  };
  const tools = [gatedTool(options, { approvals: approvalsOf(scene), runId: "both" })];
  const model = scripted(CALLS);
  const agent = new Agent({ name: "payer", model, tools });
  const { state, interruptions } = await runner.run(agent, "pay");
  assert.equal(await scene.countRequests(), before);
  for (const interruption of interruptions) state.approve(interruption);
  const running = runner.run(agent, state);
  const id = await scene.nextPending();
  assert.deepEqual(inputs, []);
  await scene.server.decide(scene.reviewer, id, "approve");
  await running;
  assert.deepEqual(toolResultsOf(model), { call_1: "paid A-1" });
});

test("[ours.sdk.frameworks.suspend] openai-agents: resumeState does not answer an interruption for a tool's own need", async () => {
  const scene = await sharedScene();
  const execute = async () => neverPays();
  const pay = { name: "pay", description: "pays", parameters: PARAMETERS, execute };
  const own = tool({ ...pay, needsApproval: true });
  const agentWith = (wait: boolean) => {
    const gating = { approvals: approvalsOf(scene, { wait }), runId: "own need" };
    return new Agent({ name: "payer", model: scripted(CALLS), tools: gateTools([own], gating) });
  };
  const { state, interruptions } = await runner.run(agentWith(true), "pay");
  assert.equal(interruptions.length, 1);
  const restored = await RunState.fromString(agentWith(false), state.toString());
  await assert.rejects(resumeState(restored), { code: "invalid_option" });
});

test("[ours.sdk.frameworks.suspend] openai-agents: resumeState rejects a denied call in the state with its reason", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const turn = { approvals, runId: "rejected", calls: CALLS, pay: neverPays };
  const { state } = await runner.run(agentOf(turn, scripted(CALLS)), "pay");
  await scene.decideNext("deny", { note: "Not that customer." });
  const stored = (await resumeState(state)).toString();
  // Another process runs the stored state, which contains the decision.
  const model = scripted(CALLS, true);
  const agent = agentOf(turn, model);
  const restored = await RunState.fromString(agent, stored);
  const [item] = restored.getInterruptions();
  assert.ok(item !== undefined);
  const { callId = "" } = Object(item.rawItem) as { readonly callId?: string };
  const { name = "" } = item;
  assert.equal(restored._context.isToolApproved({ toolName: name, callId }), false);
  await runner.run(agent, restored);
  assert.deepEqual(toolResultsOf(model), {
    call_1: "This call was denied: Not that customer.",
  });
});

test("[ours.sdk.frameworks.suspend] openai-agents: approving an interruption in the framework does not run the call", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene, { wait: false });
  const model = scripted(CALLS);
  const turn = { approvals, runId: "forged", calls: CALLS, pay: neverPays };
  const agent = agentOf(turn, model);
  const { state, interruptions } = await runner.run(agent, "pay");
  for (const interruption of interruptions) state.approve(interruption);
  await runner.run(agent, state);
  assert.match(toolResultsOf(model).call_1 ?? "", /^This call waits for approval/);
  await scene.decideNext("deny");
});

test("[ours.sdk.frameworks.held] openai-agents: tools that are made already are gated with what the model proposed", async () => {
  const scene = await sharedScene();
  const paid: object[] = [];
  const execute = async (input: object) => {
    paid.push(input);
    return "paid";
  };
  const made = tool({ name: "pay", description: "pays", parameters: PARAMETERS, execute });
  for (const wait of [true, false]) {
    const approvals = approvalsOf(scene, { wait });
    const tools = gateTools([made], { approvals, runId: `made-${wait}` });
    const model = scripted(CALLS);
    const agent = new Agent({ name: "payer", model, tools });
    const ended = runner.run(agent, "pay");
    const id = await scene.nextPending();
    assert.deepEqual((await scene.server.read(scene.token, id)).arguments, CALLS[0]?.arguments);
    await scene.server.decide(scene.reviewer, id, "approve");
    const { state, interruptions } = await ended;
    assert.equal(interruptions.length, wait ? 0 : 1);
    if (!wait) await runner.run(agent, state);
    assert.deepEqual(toolResultsOf(model), { call_1: "paid" });
  }
  assert.deepEqual(paid, [
    { to: "A-1", cents: 5 },
    { to: "A-1", cents: 5 },
  ]);
});

test("[ours.sdk.frameworks.held] openai-agents: a text that holds arguments is not unpacked behind the approval", async () => {
  const client = new DevelopmentProvider({
    outcomes: { "*": "approved" },
    logger: { warn: () => {} },
  });
  const approvals = new Countersign({ provider: client, store: new MemoryStore() });
  const ran: unknown[] = [];
  const execute = async (input: unknown) => ran.push(input);
  const parameters = { type: "object", properties: {}, required: [], additionalProperties: true };
  const about = { name: "pay", description: "pays", parameters, strict: false } as const;
  const [gated] = gateTools([tool({ ...about, execute } as never)], {
    approvals,
    runId: "packed",
  }) as FunctionTool[];
  // The submitted input is a text or null, not an object with or without a member `to`.
  for (const input of [JSON.stringify('{"to":"B-2"}'), "null"]) {
    const toolCall = { type: "function_call", callId: input, name: "pay", arguments: input };
    await gated?.invoke(new RunContext(), input, { toolCall } as never);
  }
  assert.deepEqual(ran, ['{"to":"B-2"}', null]);
});

test("[ours.sdk.frameworks.ungateable] openai-agents: a tool that runs elsewhere, or cannot return text, is rejected", () => {
  const approvals = new Countersign({
    url: "http://127.0.0.1:1",
    apiKey: "t",
    store: new MemoryStore(),
  });
  const gating = { approvals, runId: "r" };
  assert.throws(() => gateTools([webSearchTool()], gating), { code: "invalid_option" });
  const about = { name: "pay", description: "pays", parameters: PARAMETERS };
  const exact = {
    ...about,
    outputSchema: z.object({ id: z.string() }),
    execute: async () => ({ id: "1" }),
  };
  assert.throws(() => gateTools([tool(exact)], gating), { code: "invalid_option" });
  assert.throws(() => gatedTool(exact as never, gating), { code: "invalid_option" });
});

test("[ours.sdk.frameworks.suspend] openai-agents: a call during an outage is interrupted, and can be resumed", async () => {
  const scene = await sharedScene();
  let isOutage = true;
  const network: typeof fetch = async (input, init) => {
    if (isOutage) throw new TypeError("fetch failed");
    return fetch(input, init);
  };
  const approvals = approvalsOf(scene, { wait: false, fetch: network, retryFor: "1s" });
  const model = scripted(CALLS);
  const pay = ({ to }: { to: string }) => `paid ${to}`;
  const agent = agentOf({ approvals, runId: "outage", calls: CALLS, pay }, model);
  const { state, interruptions } = await runner.run(agent, "pay");
  assert.equal(interruptions.length, 1);
  isOutage = false;
  const waiting = await runner.run(agent, await resumeState(state));
  assert.equal(waiting.interruptions.length, 1);
  await scene.decideNext("approve");
  await runner.run(agent, await resumeState(waiting.state));
  assert.deepEqual(toolResultsOf(model), { call_1: "paid A-1" });
});
