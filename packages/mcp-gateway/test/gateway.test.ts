/**
 * The MCP gateway as its client sees it: what a held call becomes, and that everything else is as
 * if there was no gateway.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  type Progress,
  ResultSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import {
  BIN,
  type ConnectedGateway,
  call,
  connectGateway,
  EVERYTHING,
  Fickle,
  number,
  openSession,
  PATIENT,
  shownRequest,
  spawnGateway,
  statusIs,
  textOf,
} from "./support/gateway-scene.ts";

const owner = fileOwner();
let scene: AgentScene;
let fickle: Fickle;
let gateway: ConnectedGateway;

before(async () => {
  scene = await startAgentScene(owner);
  fickle = new Fickle(temporaryFolder(owner));
  gateway = await connectGateway(owner, scene, { fickle: fickle.config });
});

test("[ours.mcp.held] a call waits for its approval, and the client is kept waiting", async () => {
  const seen = fickle.calls().length;
  const signs: string[] = [];
  const sign = Promise.withResolvers<void>();
  const onprogress = ({ message }: Progress) => {
    signs.push(message ?? "");
    if (signs.length === 2) sign.resolve();
  };
  const params = { name: "pay", arguments: { to: "A-1" } };
  const paying = gateway.client.callTool(params, undefined, { ...PATIENT, onprogress });
  const id = await scene.nextPending();
  await sign.promise;
  assert.equal(signs[0], "pay waits for approval");
  assert.equal(fickle.calls().length, seen);
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.equal(textOf((await paying) as never), "paid");
  assert.equal(fickle.calls().length, seen + 1);
});

test("[ours.mcp.exact] the provider and the server receive the arguments exactly as the client wrote them", async () => {
  const args = {
    n: number("9007199254740993"),
    rate: number("1.10"),
    "2": "é\u2028",
    "1": {},
  };
  const text = JSON.stringify(args);
  assert.match(text, /"rate":1\.10/);
  const paying = call(gateway.client, "pay", args);
  const id = await scene.nextPending();
  const shown = await shownRequest(scene, id);
  assert.ok(shown.includes(`"tool":"mcp__fickle__pay","arguments":${text},`), shown);
  await scene.server.decide(scene.reviewer, id, "approve");
  await paying;
  assert.ok(fickle.calls().at(-1)?.includes(`"arguments":${text}`), fickle.calls().at(-1));
});

test("[ours.mcp.told] a denial is a result with the note, and the server does not receive the call", async () => {
  const seen = fickle.calls().length;
  const paying = call(gateway.client, "pay", { to: "B-2" });
  await scene.decideNext("deny", { note: "Ask Ana first." });
  const result = await paying;
  assert.equal(result.isError, true);
  assert.equal(textOf(result), "This call was denied: Ask Ana first.");
  assert.equal(fickle.calls().length, seen);
});

test("[ours.mcp.told] an undecided call returns that as its result, and does not run", async (t) => {
  const own = new Fickle(temporaryFolder(t));
  const config = { timeout: "1s" };
  const { client } = await connectGateway(t, scene, { fickle: own.config }, { config });
  const result = await call(client, "pay");
  assert.equal(result.isError, true);
  assert.match(textOf(result), /^No reviewer decided about this call in time, so it did not run/);
  assert.deepEqual(own.calls(), []);
});

test("[ours.mcp.cancel] a call that the client takes back is cancelled at the provider", async () => {
  const seen = fickle.calls().length;
  const abort = new AbortController();
  const params = { name: "pay", arguments: {} };
  const paying = gateway.client.callTool(params, undefined, { ...PATIENT, signal: abort.signal });
  const refused = assert.rejects(paying);
  const id = await scene.nextPending();
  abort.abort("changed my mind");
  await refused;
  await statusIs(scene, id, "cancelled");
  assert.equal(fickle.calls().length, seen);
});

test("[ours.mcp.cancel] a call that runs is cancelled at its server", async () => {
  const abort = new AbortController();
  const params = { name: "wait_for_ever", arguments: {} };
  const waiting = gateway.client.callTool(params, undefined, { ...PATIENT, signal: abort.signal });
  const refused = assert.rejects(waiting);
  await scene.decideNext("approve");
  const { id } = await soon(() => {
    const line = fickle.calls().find((one) => one.includes("wait_for_ever"));
    return line === undefined ? undefined : (JSON.parse(line) as { id: number });
  });
  abort.abort("enough");
  await refused;
  await soon(() => {
    const cancelled = fickle.lines().find((line) => line.includes("notifications/cancelled"));
    return cancelled?.includes(`"requestId":${id}`) || undefined;
  });
});

test("[ours.mcp.once] a decision is for one call: the gateway submits the same call again", async () => {
  const before = await scene.countRequests();
  const first = call(gateway.client, "pay", { to: "C-3" });
  await scene.decideNext("approve");
  assert.equal(textOf(await first), "paid");
  const second = call(gateway.client, "pay", { to: "C-3" });
  await scene.decideNext("deny");
  assert.equal((await second).isError, true);
  assert.equal(await scene.countRequests(), before + 2);
});

test("[ours.mcp.context] reviewers and policy see the server, the tool's definition and all that goes with a call", async () => {
  const params = { name: "pay", arguments: {}, _meta: { "example.com/amount": 5 } };
  const paying = gateway.client.callTool(params, undefined, PATIENT);
  const id = await scene.nextPending();
  const { context } = JSON.parse(await shownRequest(scene, id)) as {
    context: Record<string, unknown>;
  };
  assert.equal(context["runtime"], "mcp-gateway");
  assert.deepEqual([context["server"], context["server_tool"]], ["fickle", "pay"]);
  assert.match(String(context["tool_definition"]), /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(context["client"], { name: "test-client", version: "1" });
  assert.deepEqual(context["params"], { _meta: { "example.com/amount": 5 } });
  await scene.server.decide(scene.reviewer, id, "deny");
  await paying;
});

test("[ours.mcp.unasked] no method under tools/ reaches a server without an approval, and no call without an id", async () => {
  const { client, notify } = gateway;
  const seen = fickle.lines().length;
  await notify("tools/call", { name: "pay", arguments: {} });
  for (const method of ["tools/callMany", "Tools/call"]) {
    const refused = client.request({ method, params: { name: "pay" } }, ResultSchema);
    await assert.rejects(refused, /does not know/);
  }
  assert.equal(fickle.lines().length, seen);
  await gateway.reported("call_refused");
});

test("[ours.mcp.passes] unknown methods and numbers pass unchanged", async () => {
  const { client } = gateway;
  const params = { n: number("1e400") };
  const result = await client.request({ method: "test/exact", params }, ResultSchema.loose());
  assert.deepEqual(Object.keys(result), ["n", "r"]);
  assert.ok(fickle.lines().at(-1)?.endsWith('"method":"test/exact","params":{"n":1e400}}'));
  const halves = await client.request({ method: "test/halves" }, ResultSchema.loose());
  assert.equal(halves["text"], "\ufffd");
  await gateway.reported("server_message_fixed");
});

test("[ours.mcp.passes] resources, prompts, completions, logging, sampling, elicitation and roots pass", async (t) => {
  const samplingRequests: string[] = [];
  const changed = Promise.withResolvers<void>();
  const logged = Promise.withResolvers<string>();
  const { client } = await connectGateway(
    t,
    scene,
    { every: EVERYTHING },
    {
      capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } },
      prepare(client) {
        client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve());
        client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
          logged.resolve(params.level);
        });
        client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
          samplingRequests.push(JSON.stringify(params.messages));
          const content = { type: "text" as const, text: "a poem" };
          return { model: "none", role: "assistant" as const, content };
        });
        client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "decline" as const }));
        client.setRequestHandler(ListRootsRequestSchema, async () => ({
          roots: [{ uri: "file:///srv/exact", name: "exact" }],
        }));
      },
    },
  );
  assert.equal(client.getServerVersion()?.name, "mcp-servers/everything");
  assert.ok(client.getInstructions());
  // It registers tools by what the client can do, and says so.
  await changed.promise;
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === "trigger-sampling-request"));
  const { resources } = await client.listResources();
  const [resource] = resources;
  assert.ok(resource);
  assert.equal((await client.readResource({ uri: resource.uri })).contents.length, 1);
  assert.ok((await client.listResourceTemplates()).resourceTemplates.length > 0);
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some(({ name }) => name === "simple-prompt"));
  assert.ok((await client.getPrompt({ name: "simple-prompt" })).messages.length > 0);
  const { completion } = await client.complete({
    ref: { type: "ref/prompt", name: "completable-prompt" },
    argument: { name: "department", value: "E" },
  });
  assert.deepEqual(completion.values, ["Engineering"]);
  await client.setLoggingLevel("debug");
  const sampling = call(client, "trigger-sampling-request", { prompt: "write" });
  await scene.decideNext("approve");
  assert.match(textOf(await sampling), /a poem/);
  assert.match(samplingRequests.join(), /context: write/);
  const eliciting = call(client, "trigger-elicitation-request");
  await scene.decideNext("approve");
  assert.match(textOf(await eliciting), /declined/i);
  const roots = call(client, "get-roots-list");
  await scene.decideNext("approve");
  assert.match(textOf(await roots), /file:\/\/\/srv\/exact/);
  const toggling = call(client, "toggle-simulated-logging");
  await scene.decideNext("approve");
  await toggling;
  assert.ok(await logged.promise);
});

test("[ours.mcp.credentials] a server gets its configured variables, and never the provider's credential", async (t) => {
  const state = temporaryFolder(t);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      BIN,
      "--name",
      "every",
      "--pass-env",
      "CRM_KEY",
      "--",
      EVERYTHING.command,
      ...EVERYTHING.args,
      "stdio",
      "--help",
    ],
    env: {
      ...(ownEnvironment() as Record<string, string>),
      COUNTERSIGN_URL: scene.url,
      COUNTERSIGN_API_KEY: scene.token,
      XDG_STATE_HOME: state,
      CRM_KEY: "for the server",
      OTHER_KEY: "not for the server",
    },
    stderr: "ignore",
  });
  const client = await openSession(t, transport);
  const asking = call(client, "get-env");
  const id = await scene.nextPending();
  assert.match(await shownRequest(scene, id), /"tool":"mcp__every__get-env"/);
  await scene.server.decide(scene.reviewer, id, "approve");
  const seen = textOf(await asking);
  assert.match(seen, /for the server/);
  assert.doesNotMatch(seen, /not for the server|COUNTERSIGN_/);
});

test("[ours.mcp.end] a stopped gateway cancels its pending requests and stops its servers", async (t) => {
  const own = new Fickle(temporaryFolder(t));
  const terminated = await connectGateway(t, scene, { fickle: own.config });
  const paying = assert.rejects(call(terminated.client, "pay"));
  const id = await scene.nextPending();
  process.kill(terminated.pid, "SIGTERM");
  await paying;
  await statusIs(scene, id, "cancelled");
  assert.deepEqual(own.calls(), []);
});

function soon<T>(look: () => T | undefined): Promise<T> {
  return eventually("a message to the server", look);
}

test("[ours.mcp.credentials] COUNTERSIGN_INSTANCE_TOKEN still works, with one warning on stderr", async (t) => {
  const args = ["--check", "--", EVERYTHING.command, ...EVERYTHING.args, "stdio"];
  const env = { COUNTERSIGN_URL: scene.url, COUNTERSIGN_INSTANCE_TOKEN: scene.token };
  const { code, stdout, stderr } = await spawnGateway(t, args, { env }).ends();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^provider: .* It accepts the credential\.$/m);
  const warnings = stderr.split("\n").filter((line) => line.includes("variable_deprecated"));
  assert.equal(warnings.length, 1, stderr);
  assert.match(warnings[0] ?? "", /Set COUNTERSIGN_API_KEY instead\./);
});
