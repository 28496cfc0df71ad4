/**
 * The rules for every version of the MCP SDK: its real server and client, in front of the real
 * provider.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Extra,
  type GateableServer,
  gateServer,
  gateToolCalls,
  type ToolCallRequest,
} from "@countersign/sdk/mcp";
import { z } from "zod";
import { type Framework, lookOf, type Payment, type Turn } from "./framework-description.ts";
import { approvalsOf, clientOf, sharedScene } from "./framework-scene.ts";

export const INFO = { name: "payments", version: "1.0.0" };
export const inputSchema = z.object({
  to: z.string().transform((to) => to.trim()),
  cents: z.number(),
});

/** The schemas of the tools of {@link toolsOf}. */
export const SCHEMAS = { inputSchema, outputSchema: z.object({ text: z.string() }) };

/** An alias, because the SDK's type of a result has an index signature. */
export type TextResult = { content: { type: "text"; text: string }[]; isError?: boolean };
type Run = (input: Payment) => Promise<TextResult>;
type StructuredResult = TextResult & { structuredContent: { text: string } };
type StructuredRun = (input: Payment) => Promise<StructuredResult>;
type CallHandler = (request: ToolCallRequest, extra: Extra) => Promise<TextResult>;

/** A tool that the server registered. */
export interface TestTool {
  handler: unknown;
  update(updates: { name?: string; callback?: () => Promise<TextResult> }): void;
}

export interface TestServer extends GateableServer<never> {
  connect(transport: never): Promise<void>;
}

/** The parameters of a call. `_meta` carries the model's id of the call. */
export interface TestCall {
  readonly name: string;
  /** An inline type, because the SDK requires an index signature. */
  readonly arguments?: { readonly to: string; readonly cents: number };
  readonly _meta?: { readonly callId: string };
}

export interface TestCallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { readonly message?: string | undefined }) => void;
}

export interface TestClient {
  call(call: TestCall, options?: TestCallOptions): Promise<TextResult>;
  close(): Promise<void>;
}

/** One version of the MCP SDK. `Server` is its `McpServer`, `LowLevel` its `Server`. */
export interface McpVersion<Server extends TestServer, LowLevel extends { connect: unknown }> {
  readonly name: string;
  /** The field of a registered tool that the server calls. */
  readonly calledField: "handler" | "executor";
  newServer(options?: { readonly capabilities: { readonly tools: object } }): Server;
  newLowLevelServer(): LowLevel;
  /** Registers a tool with {@link inputSchema}. */
  register(server: Server, name: string, run: Run): TestTool;
  registerWithoutSchema(server: Server, name: string, run: () => TextResult): void;
  /** The handler of `tools/call`. */
  setCallHandler(server: LowLevel | Server["server"], handler: CallHandler): void;
  connect(server: Server | LowLevel): Promise<TestClient>;
}

export function textOf({ content }: TextResult): string {
  return content[0]?.text ?? "";
}

export function textResult(text: string): TextResult {
  return { content: [{ type: "text", text }] };
}

/** A client takes the place of the model. It sends the model's ids of the calls. */
export function frameworkOf(
  file: string,
  connectTo: (turn: Turn) => Promise<TestClient>,
): Framework {
  return {
    name: "mcp",
    file,
    async run(turn) {
      const client = await connectTo(turn);
      const options = { ...(turn.signal && { signal: turn.signal }) };
      const results = turn.calls.map(async ({ id, tool: name = "pay", arguments: args }) => {
        const call = { name, arguments: { ...args }, _meta: { callId: id } };
        return [id, textOf(await client.call(call, options))] as const;
      });
      return { results: Object.fromEntries(await Promise.all(results)), streamed: {} };
    },
    streaming: { unsupported: "MCP returns the result of a tool call as one message." },
    suspension: {
      unsupported:
        "An MCP client waits for the response of its request, and the protocol cannot suspend it.",
    },
  };
}

/** The tools of a turn. */
export function toolsOf(turn: Turn): [name: string, run: StructuredRun][] {
  const runOf = (act: (input: Payment) => string): StructuredRun => {
    return async (input) => {
      const text = act(input);
      return { ...textResult(text), structuredContent: { text } };
    };
  };
  return [
    ["pay", runOf(turn.pay)],
    ["look", runOf(lookOf(turn))],
  ];
}

const neverRuns = async (): Promise<TextResult> => assert.fail("it ran");
const CALL = { name: "pay", arguments: { to: "A-1", cents: 5 } };
const DENIED = "This call was denied.";

export function mcpRules<S extends TestServer, L extends { connect: unknown }>(
  version: McpVersion<S, L>,
): void {
  rulesOfSelection(version);
  rulesOfCalls(version);
  rulesOfHandlers(version);
  rulesOfServers(version);
}

function rulesOfSelection<S extends TestServer, L extends { connect: unknown }>(
  version: McpVersion<S, L>,
): void {
  const { name, newServer, register, connect } = version;

  test(`[ours.sdk.frameworks.selection] ${name}: a tool keeps its gate under a new name`, async () => {
    const scene = await sharedScene();
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(scene), only: ["pay"] });
    register(server, "pay", neverRuns).update({ name: "pay_v2" });
    const called = (await connect(server)).call({ ...CALL, name: "pay_v2" });
    await scene.decideNext("deny");
    assert.equal(textOf(await called), DENIED);
  });

  test(`[ours.sdk.frameworks.selection] ${name}: \`only\` may name a tool by its later name`, async () => {
    const scene = await sharedScene();
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(scene), only: ["pay"] });
    register(server, "draft", neverRuns).update({ name: "pay" });
    register(server, "look", async () => textResult("seen"));
    const client = await connect(server);
    const called = client.call(CALL);
    await scene.decideNext("deny");
    assert.equal(textOf(await called), DENIED);
    assert.equal(textOf(await client.call({ ...CALL, name: "look" })), "seen");
  });

  test(`[ours.sdk.frameworks.selection] ${name}: a tool without a gate does not run while \`only\` names an unknown tool`, async () => {
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(await sharedScene()), only: ["pya"] });
    register(server, "pay", neverRuns);
    const result = await (await connect(server)).call(CALL);
    assert.match(textOf(result), /only or except names unknown tools: "pya"/);
  });

  test(`[ours.sdk.frameworks.selection] ${name}: gateServer rejects an \`except\` that is not a list`, async () => {
    const wrong = { approvals: approvalsOf(await sharedScene()), except: "look" } as never;
    assert.throws(() => gateServer(newServer(), wrong), { code: "invalid_option" });
  });
}

function rulesOfCalls<S extends TestServer, L extends { connect: unknown }>(
  version: McpVersion<S, L>,
): void {
  const { name, newServer, register, connect } = version;

  test(`[ours.sdk.frameworks.held] ${name}: a client that asks for progress is notified that the call waits`, async () => {
    const scene = await sharedScene();
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(scene), progressInterval: "1ms" });
    const made = register(server, "pay", neverRuns);
    // A later update is gated too, under the new name.
    made.update({ callback: async () => textResult("paid anew") });
    const client = await connect(server);
    const progressMessage = Promise.withResolvers<string | undefined>();
    const onprogress: TestCallOptions["onprogress"] = ({ message }) => {
      progressMessage.resolve(message);
    };
    const ended = client.call(CALL, { onprogress });
    assert.equal(await Promise.race([progressMessage.promise, ended]), "waiting for approval");
    await scene.decideNext("approve");
    assert.equal(textOf(await ended), "paid anew");
    made.update({ name: "pay_out" });
    const renamed = client.call({ ...CALL, name: "pay_out" });
    const id = await scene.nextPending();
    assert.equal((await scene.server.read(scene.token, id)).tool, "pay_out");
    await scene.server.decide(scene.reviewer, id, "deny");
    const refused = await renamed;
    assert.deepEqual([textOf(refused), refused.isError], [DENIED, true]);
  });

  test(`[ours.sdk.frameworks.held] ${name}: a tool without arguments waits for approval, and each request is a separate call`, async () => {
    const scene = await sharedScene();
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(scene) });
    let runs = 0;
    version.registerWithoutSchema(server, "sweep", () => textResult(`swept ${++runs}`));
    const client = await connect(server);
    for (const expected of ["swept 1", "swept 2"]) {
      const ended = client.call({ name: "sweep" });
      const id = await scene.nextPending();
      assert.deepEqual((await scene.server.read(scene.token, id)).arguments, {});
      await scene.server.decide(scene.reviewer, id, "approve");
      assert.equal(textOf(await ended), expected);
    }
  });

  test(`[ours.sdk.frameworks.once] ${name}: the first call of the next client is a separate call`, async () => {
    const scene = await sharedScene();
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(scene) });
    let runs = 0;
    register(server, "pay", async () => textResult(`paid ${++runs}`));
    for (const expected of ["paid 1", "paid 2"]) {
      const client = await connect(server);
      const ended = client.call(CALL);
      await scene.decideNext("approve");
      assert.equal(textOf(await ended), expected);
      await client.close();
    }
  });

  test(`[ours.sdk.frameworks.held] ${name}: a call waits also with wait: false, because it cannot be suspended`, async () => {
    const scene = await sharedScene();
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(scene, { wait: false }) });
    register(server, "pay", async () => textResult("paid"));
    const ended = (await connect(server)).call(CALL);
    await scene.decideNext("approve");
    assert.equal(textOf(await ended), "paid");
  });

  test(`[ours.sdk.frameworks.abort] ${name}: a disconnected client cancels its request`, async () => {
    const scene = await sharedScene();
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(scene) });
    register(server, "pay", neverRuns);
    const client = await connect(server);
    const settled = Promise.allSettled([client.call(CALL)]);
    const id = await scene.nextPending();
    await client.close();
    await settled;
    assert.equal((await clientOf(scene).read(id, { wait: "25s" })).status, "cancelled");
  });
}

function rulesOfHandlers<S extends TestServer, L extends { connect: unknown }>(
  version: McpVersion<S, L>,
): void {
  const { name, newServer, register, setCallHandler, connect } = version;

  test(`[ours.sdk.frameworks.held] ${name}: the handler of a low-level server receives the approved arguments`, async () => {
    const scene = await sharedScene();
    const server = version.newLowLevelServer();
    const handler = async ({ params }: ToolCallRequest) => {
      return textResult(JSON.stringify(params.arguments));
    };
    setCallHandler(server, gateToolCalls(handler, { approvals: approvalsOf(scene) }));
    const ended = (await connect(server)).call(CALL);
    await scene.decideNext("approve");
    assert.equal(textOf(await ended), '{"to":"A-1","cents":5}');
  });

  test(`[ours.sdk.frameworks.ungateable] ${name}: a handler of tools/call that replaces the gated tools does not run`, async () => {
    const scene = await sharedScene();
    const approvals = approvalsOf(scene);
    const server = newServer();
    gateServer(server, { approvals });
    register(server, "pay", neverRuns);
    setCallHandler(server.server, neverRuns);
    const client = await connect(server);
    const refused = await client.call(CALL);
    assert.match(textOf(refused), /^The call did not run.*Wrap the handler with gateToolCalls\.$/);
    assert.equal(refused.isError, true);
    setCallHandler(
      server.server,
      gateToolCalls(async () => textResult("paid"), { approvals }),
    );
    const ended = client.call(CALL);
    await scene.decideNext("approve");
    assert.equal(textOf(await ended), "paid");
  });

  test(`[ours.sdk.frameworks.ungateable] ${name}: the fallback handler receives other requests, but no tool calls`, async () => {
    const server = newServer();
    server.server.fallbackRequestHandler = neverRuns;
    gateServer(server, { approvals: approvalsOf(await sharedScene()) });
    const client = await connect(server);
    assert.match(textOf(await client.call(CALL)), /^The call did not run/);
    server.server.fallbackRequestHandler = neverRuns;
    assert.match(textOf(await client.call(CALL)), /^The call did not run/);
    const request = { method: "payments/list" };
    const context = { mcpReq: request, requestId: 1 } as never;
    const list = async () => ({ payments: [] });
    server.server.fallbackRequestHandler = list;
    const answer = await server.server.fallbackRequestHandler?.(request as never, context);
    assert.deepEqual(answer, { payments: [] });
  });

  test(`[ours.sdk.frameworks.ungateable] ${name}: an assigned handler of a tool is rejected, and the gate stays`, async () => {
    const scene = await sharedScene();
    const server = newServer();
    gateServer(server, { approvals: approvalsOf(scene) });
    const made = register(server, "pay", neverRuns);
    for (const field of new Set(["handler", version.calledField])) {
      assert.throws(() => Object.assign(made, { [field]: neverRuns }), {
        code: "invalid_option",
        message: `Cannot gate tool pay: its ${field} was assigned. Use update({ callback }).`,
      });
    }
    const called = (await connect(server)).call(CALL);
    await scene.decideNext("deny");
    assert.equal(textOf(await called), DENIED);
  });
}

function rulesOfServers<S extends TestServer, L extends { connect: unknown }>(
  version: McpVersion<S, L>,
): void {
  const { name, newServer, register } = version;

  test(`[ours.sdk.frameworks.ungateable] ${name}: a server that handles tools/call is rejected, because its tools would not be gated`, async () => {
    const approvals = approvalsOf(await sharedScene());
    const withTool = newServer();
    register(withTool, "pay", neverRuns);
    // A patch release can rename private fields.
    const renamed = newServer();
    register(renamed, "pay", neverRuns);
    const fields = renamed as object as Record<string, unknown>;
    fields._tools = fields._registeredTools;
    delete fields._registeredTools;
    const withHandler = newServer({ capabilities: { tools: {} } });
    for (const server of [withTool, renamed, withHandler]) {
      assert.throws(() => gateServer(server, { approvals }), {
        code: "invalid_option",
        message: /before the first registerTool, and omit capabilities\.tools/,
      });
    }
  });

  test(`[ours.sdk.frameworks.ungateable] ${name}: an object that is not an McpServer is rejected`, async () => {
    const approvals = approvalsOf(await sharedScene());
    for (const other of [version.newLowLevelServer(), {}]) {
      assert.throws(() => gateServer(other as never, { approvals }), {
        code: "invalid_option",
        message: /@modelcontextprotocol\/sdk 1\.32 or later and of @modelcontextprotocol\/server 2/,
      });
    }
  });
}
