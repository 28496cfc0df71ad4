// Needs: frameworks
// Process: own
/**
 * `countersignMiddleware` in agents of `createAgent`, with other middleware of the framework.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Countersign, MemoryStore } from "@countersign/sdk";
import { countersignMiddleware, gateTool, gateTools, isNotRun } from "@countersign/sdk/langchain";
import { ToolMessage } from "@langchain/core/messages";
import type { FakeBuiltModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import {
  type AgentMiddleware,
  createAgent,
  createMiddleware,
  toolErrorMiddleware,
  toolRetryMiddleware,
} from "langchain";
import type { Payment } from "./support/framework-description.ts";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, CALL, neverPays, sharedScene } from "./support/framework-scene.ts";
import { SCHEMA, scripted } from "./support/frameworks/langchain.ts";
import { framework } from "./support/frameworks/langchain-middleware.ts";

type Pay = (input: Payment) => string;

const USER = { messages: [{ role: "user", content: "pay" }] };

function payTool(pay: Pay) {
  const about = { name: "pay", description: "pays", schema: SCHEMA };
  return tool(async (input) => pay(input), about);
}

function toolMessagesOf(model: FakeBuiltModel): ToolMessage[] {
  const messages = model.calls.at(-1)?.messages ?? [];
  return messages.filter((message) => ToolMessage.isInstance(message));
}

function textsOf(model: FakeBuiltModel): string[] {
  return toolMessagesOf(model).map(({ text }) => text);
}

/** A provider that no test should reach. */
function unreachable(warn: (line: string) => void = () => {}): Countersign {
  return new Countersign({
    url: "http://127.0.0.1:1",
    apiKey: "t",
    store: new MemoryStore(),
    retryFor: "1ms",
    logger: { info: () => {}, warn },
  });
}

frameworkRules(framework);

interface Changed {
  readonly args: object;
  readonly name?: string;
}

/** A middleware that changes calls before the next one receives them. */
function changing({ args, name }: Changed): AgentMiddleware {
  return createMiddleware({
    name: "changing",
    wrapToolCall: (request, handler) => {
      const { toolCall } = request;
      const changed = { ...toolCall, name: name ?? toolCall.name, args: { ...args } };
      return handler({ ...request, toolCall: changed });
    },
  });
}

for (const position of ["before", "after"] as const) {
  test(`[ours.sdk.frameworks.held] langchain middleware: arguments that a middleware changes ${position} it are submitted as they run`, async () => {
    const scene = await sharedScene();
    const paid: object[] = [];
    const pay: Pay = (input) => {
      paid.push(input);
      return "paid";
    };
    const gate = countersignMiddleware({
      approvals: approvalsOf(scene),
      runId: `changed ${position}`,
    });
    const change = changing({ args: { to: " B-2 ", cents: 9 } });
    const middleware = position === "before" ? [change, gate] : [gate, change];
    const model = scripted([CALL]);
    const ended = createAgent({ model, tools: [payTool(pay)], middleware }).invoke(USER);
    const id = await scene.nextPending();
    const submitted = await scene.server.read(scene.token, id);
    await scene.server.decide(scene.reviewer, id, "approve");
    await ended;
    assert.deepEqual(paid, [{ to: "B-2", cents: 9 }]);
    assert.deepEqual([submitted.tool, submitted.arguments], ["pay", paid[0]]);
  });
}

test("[ours.sdk.frameworks.held] langchain middleware: a call under the name of an ungated tool is submitted as the tool that runs", async () => {
  const scene = await sharedScene();
  const approvals = approvalsOf(scene);
  const look = tool(() => "seen", { name: "look", description: "looks", schema: SCHEMA });
  const gate = countersignMiddleware({ approvals, runId: "renamed", except: ["look"] });
  const rename = changing({ args: CALL.arguments, name: "look" });
  const model = scripted([CALL]);
  const tools = [payTool(neverPays), look];
  const ended = createAgent({ model, tools, middleware: [rename, gate] }).invoke(USER);
  const id = await scene.nextPending();
  assert.equal((await scene.server.read(scene.token, id)).tool, "pay");
  await scene.server.decide(scene.reviewer, id, "deny");
  await ended;
  assert.deepEqual(textsOf(model), ["This call was denied."]);
});

test("[ours.sdk.frameworks.words] langchain middleware: a denial is a ToolMessage with the status error, the note and the request", async () => {
  const scene = await sharedScene();
  const model = scripted([CALL]);
  const gate = countersignMiddleware({ approvals: approvalsOf(scene) });
  const tools = [payTool(neverPays)];
  const agent = createAgent({ model, tools, middleware: [gate], checkpointer: new MemorySaver() });
  const ended = agent.invoke(USER, { configurable: { thread_id: "thread 8" } });
  const id = await scene.nextPending();
  const { context, agent_reasoning } = await scene.server.read(scene.token, id);
  assert.equal(Object(context).session_id, "thread 8");
  assert.equal(agent_reasoning, "They asked for it.");
  await scene.server.decide(scene.reviewer, id, "deny", { note: "Not that customer." });
  await ended;
  const [message] = toolMessagesOf(model);
  assert.equal(message?.text, "This call was denied: Not that customer.");
  assert.deepEqual([message?.status, message?.name], ["error", "pay"]);
  assert.ok(isNotRun(message?.artifact));
  assert.equal(message?.artifact.requestId, id);
});

test("[ours.sdk.frameworks.once] langchain middleware: a call that another middleware retries runs once", async () => {
  const scene = await sharedScene();
  let paid = 0;
  const tools = [
    payTool(() => {
      paid++;
      throw new Error("no connection");
    }),
  ];
  const retries = { maxRetries: 2, initialDelayMs: 0, onFailure: "error" } as const;
  // Its types do not compile with `exactOptionalPropertyTypes`.
  const retry = toolRetryMiddleware(retries) as object as AgentMiddleware;
  const gate = countersignMiddleware({ approvals: approvalsOf(scene), runId: "retried" });
  const model = scripted([CALL]);
  const ended = createAgent({ model, tools, middleware: [retry, gate] }).invoke(USER);
  await scene.decideNext("approve");
  await ended;
  assert.match(textsOf(model)[0] ?? "", /^The approval of this call was used before/);
  assert.equal(paid, 1);
});

test("[ours.sdk.frameworks.words] langchain middleware: with toolErrorMiddleware before it, the model receives the error of an approved tool", async () => {
  const scene = await sharedScene();
  const failing = payTool(() => {
    throw new Error("no connection");
  });
  const errors = toolErrorMiddleware({ onError: (error) => `It failed: ${error}` });
  const gate = countersignMiddleware({ approvals: approvalsOf(scene), runId: "failing" });
  const model = scripted([CALL]);
  const ended = createAgent({ model, tools: [failing], middleware: [errors, gate] }).invoke(USER);
  await scene.decideNext("approve");
  await ended;
  assert.deepEqual(textsOf(model), ["It failed: Error: no connection"]);
});

test("[ours.sdk.frameworks.once] langchain middleware: a tool of gateTools is submitted once", async () => {
  const scene = await sharedScene();
  const before = await scene.countRequests();
  const settings = { approvals: approvalsOf(scene), runId: "gated twice" };
  const tools = gateTools([payTool(() => "paid")], settings);
  const model = scripted([CALL]);
  const middleware = [countersignMiddleware(settings)];
  const ended = createAgent({ model, tools, middleware }).invoke(USER);
  await scene.decideNext("approve");
  await ended;
  assert.deepEqual(textsOf(model), ["paid"]);
  assert.equal(await scene.countRequests(), before + 1);
});

test("[ours.sdk.frameworks.ungateable] langchain middleware: a tool that the agent does not have does not run", async () => {
  const supply = createMiddleware({
    name: "supply",
    wrapToolCall: (request, handler) => handler({ ...request, tool: payTool(neverPays) }),
  });
  const other = tool(() => "seen", { name: "look", description: "looks", schema: SCHEMA });
  const model = scripted([CALL]);
  const middleware = [countersignMiddleware({ approvals: unreachable(), runId: "none" }), supply];
  await createAgent({ model, tools: [other], middleware }).invoke(USER);
  assert.deepEqual(textsOf(model), ['The agent has no tool "pay".']);
  assert.equal(toolMessagesOf(model)[0]?.status, "error");
});

test("[ours.sdk.frameworks.ungateable] langchain middleware: the run fails if a later middleware replaces the gated tool", async () => {
  const replace = createMiddleware({
    name: "replace",
    wrapToolCall: (request, handler) => handler({ ...request, tool: payTool(() => "paid") }),
  });
  const settings = { approvals: unreachable(), runId: "replaced" };
  const gate = countersignMiddleware(settings);
  for (const pay of [payTool(neverPays), gateTool(payTool(neverPays), settings)]) {
    const model = scripted([CALL]);
    const agent = createAgent({ model, tools: [pay], middleware: [gate, replace] });
    await assert.rejects(agent.invoke(USER), /Put countersignMiddleware last/);
  }
});

const resumptions = [
  { by: "names", outcome: "rejects", only: ["pay"], expected: /unknown tools: "pay"\.$/ },
  { by: "a function", outcome: "runs", only: (name: string) => name === "pay", expected: /^seen$/ },
];

for (const { by, outcome, only, expected } of resumptions) {
  test(`[ours.sdk.frameworks.selection] [ours.sdk.frameworks.limits] langchain middleware: with only as ${by}, another process ${outcome} an ungated tool that it resumes`, async () => {
    const ask = () => String(interrupt("May I?"));
    const look = tool(ask, { name: "look", description: "looks", schema: SCHEMA });
    const checkpointer = new MemorySaver();
    const thread = { configurable: { thread_id: "resumed" } };
    const newAgent = (model: FakeBuiltModel) => {
      const middleware = [countersignMiddleware({ approvals: unreachable(), runId: "r", only })];
      return createAgent({ model, tools: [payTool(neverPays), look], middleware, checkpointer });
    };
    await newAgent(scripted([{ ...CALL, tool: "look" }])).invoke(USER, thread);
    const model = scripted([], true);
    await newAgent(model).invoke(new Command({ resume: "seen" }), thread);
    assert.match(textsOf(model)[0] ?? "", expected);
  });
}
