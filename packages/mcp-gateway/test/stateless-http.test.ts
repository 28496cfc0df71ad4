/**
 * MCP 2026-07-28 over Streamable HTTP: clients without sessions at the same address as earlier
 * versions, and servers that speak only this version.
 */

import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, type Owner, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  call,
  Fickle,
  openSession,
  shownRequest,
  spawnGateway,
  statusIs,
  textOf,
  writeConfig,
} from "./support/gateway-scene.ts";
import { type ModernHttpServer, startModernHttpServer } from "./support/modern-http-server.ts";

const TOKEN = "client-secret";
const VERSION = "2026-07-28";
const PATIENT = { timeout: 60_000 };
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

const owner = fileOwner();
let scene: AgentScene;
let fickle: Fickle;
let upstream: ModernHttpServer;
let url: string;
let client: Client;

before(async () => {
  scene = await startAgentScene(owner);
  upstream = await startModernHttpServer(owner);
  const folder = temporaryFolder(owner);
  fickle = new Fickle(folder);
  url = await startGateway(owner, folder, { fickle: fickle.config, modern: { url: upstream.url } });
  client = await connect(owner);
});

async function startGateway(to: Owner, folder: string, servers: object): Promise<string> {
  const file = join(folder, "client.token");
  writeFileSync(file, TOKEN);
  chmodSync(file, 0o600);
  const config = writeConfig(folder, scene, servers, { listen: { port: 0, token_file: file } });
  const env = { COUNTERSIGN_API_KEY: scene.token };
  const child = spawnGateway(to, ["--config", config], { env });
  const started = /"mcp_gateway.started","address":"([^"]+)"/;
  const [, address = ""] = await child.prints("stdout", started);
  return address;
}

async function connect(to: Owner): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: AUTHORIZED },
  });
  const versionNegotiation = { mode: { pin: VERSION } };
  const info = { name: "modern-client", version: "2" };
  const connected = new Client(info, { versionNegotiation });
  to.after(() => connected.close());
  await connected.connect(transport);
  return connected;
}

function bodyOf(method: string, params: object = {}, version = VERSION): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "ExampleClient", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
}

async function post(body: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...AUTHORIZED,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      ...headers,
    },
    body,
  });
  const text = await response.text();
  const code = (JSON.parse(text) as { error?: { code: number } }).error?.code;
  return { status: response.status, code, text };
}

test("[ours.mcp.versions] a 2026-07-28 client over HTTP calls a tool of a server on stdio", async () => {
  assert.equal(client.getNegotiatedProtocolVersion(), VERSION);
  const paying = client.callTool({ name: "fickle__pay", arguments: { to: "A-1" } }, PATIENT);
  const id = await scene.nextPending();
  const { context } = JSON.parse(await shownRequest(scene, id)) as {
    context: Record<string, unknown>;
  };
  assert.deepEqual(context["client"], { name: "modern-client", version: "2" });
  assert.equal(context["session_id"], undefined);
  assert.equal(context["params"], undefined);
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.match(JSON.stringify(((await paying) as CallToolResult).content), /paid/);
});

test("[ours.mcp.versions] a server with 2026-07-28 over HTTP receives the required headers", async () => {
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === "modern__écho"));
  const params = { name: "modern__écho", arguments: { text: "é" } };
  const echoing = client.callTool(params, PATIENT);
  await scene.decideNext("approve");
  assert.match(JSON.stringify(((await echoing) as CallToolResult).content), /é/);
  const sent = upstream.requests.find(({ body }) => body.includes("tools/call"));
  assert.equal(sent?.headers.get("mcp-protocol-version"), VERSION);
  assert.equal(sent?.headers.get("mcp-method"), "tools/call");
  const encoded = Buffer.from("écho").toString("base64");
  assert.equal(sent?.headers.get("mcp-name"), `=?base64?${encoded}?=`);
  assert.equal(sent?.headers.get("mcp-session-id"), null);
});

test("[ours.mcp.versions] a server receives marked arguments as headers, from the approved text", async (t) => {
  const transport = new EarlierTransport(new URL(url), { requestInit: { headers: AUTHORIZED } });
  const earlier = await openSession(t, transport as Transport);
  const cases = [
    [{ region: "us-west1", options: { limit: 42 } }, "us-west1", "42"],
    [{ region: " é ", options: {} }, `=?base64?${Buffer.from(" é ").toString("base64")}?=`, null],
    [{}, null, null],
  ] as const;
  for (const [args, region, limit] of cases) {
    const calling = call(earlier, "modern__query", args);
    await scene.decideNext("approve");
    assert.equal(textOf(await calling), JSON.stringify(args));
    const sent = upstream.requests.findLast(({ body }) => body.includes("tools/call"));
    assert.equal(sent?.headers.get("mcp-param-region"), region);
    assert.equal(sent?.headers.get("mcp-param-limit"), limit);
  }
});

test("[ours.mcp.versions] a tool of a server over HTTP with an invalid x-mcp-header is hidden and does not run", async (t) => {
  // The client with 2026-07-28 would hide the tool itself.
  const transport = new EarlierTransport(new URL(url), { requestInit: { headers: AUTHORIZED } });
  const { tools } = await (await openSession(t, transport as Transport)).listTools();
  assert.ok(tools.some(({ name }) => name === "modern__query"));
  assert.ok(!tools.some(({ name }) => name === "modern__invalid"));
  const params = { name: "modern__invalid", arguments: { rate: 1.5 } };
  await assert.rejects(client.callTool(params, PATIENT), /There is no tool with this name/);
});

test("[ours.mcp.versions] clients with both versions use the same address", async () => {
  const transport = new EarlierTransport(new URL(url), { requestInit: { headers: AUTHORIZED } });
  const earlier = await openSession(owner, transport as Transport);
  const echoing = call(earlier, "modern__écho", { text: "hello" });
  await scene.decideNext("approve");
  assert.match(textOf(await echoing), /hello/);
  const paying = client.callTool({ name: "fickle__pay", arguments: {} }, PATIENT);
  await scene.decideNext("deny");
  assert.equal(((await paying) as CallToolResult).isError, true);
});

test("[ours.mcp.versions] two 2026-07-28 clients with equal ids and progress tokens receive their own results", async (t) => {
  const other = await connect(t);
  const seen: string[] = [];
  const ask = (from: Client, text: string) => {
    const onprogress = () => void seen.push(text);
    const params = { name: "modern__écho", arguments: { text } };
    return from.callTool(params, { ...PATIENT, onprogress }) as Promise<CallToolResult>;
  };
  const fresh = await connect(t);
  const first = ask(other, "first");
  const one = await scene.nextPending();
  await eventually("progress of the first call", async () => seen.at(0));
  assert.deepEqual([...new Set(seen)], ["first"]);
  await scene.server.decide(scene.reviewer, one, "approve");
  const second = ask(fresh, "second");
  await scene.decideNext("approve");
  assert.match(JSON.stringify((await first).content), /first/);
  assert.match(JSON.stringify((await second).content), /second/);
});

test("[ours.mcp.http] a 2026-07-28 client that closes its response cancels the call", async () => {
  const calls = fickle.calls().length;
  const waiting = new AbortController();
  const options = { signal: waiting.signal, ...PATIENT };
  const refused = client.callTool({ name: "fickle__pay", arguments: {} }, options);
  const rejected = assert.rejects(refused);
  const id = await scene.nextPending();
  waiting.abort("enough");
  await rejected;
  await statusIs(scene, id, "cancelled");
  assert.equal(fickle.calls().length, calls);
  const running = new AbortController();
  const hanging = client.callTool(
    { name: "modern__hang", arguments: {} },
    { signal: running.signal, ...PATIENT },
  );
  const ended = assert.rejects(hanging);
  await scene.decideNext("approve");
  await eventually("the call at its server", async () => {
    return upstream.requests.find(({ body }) => body.includes('"hang"'));
  });
  running.abort("enough");
  await ended;
  await upstream.cancelled;
});

test("[ours.mcp.versions] a subscription over HTTP delivers changes of lists", async () => {
  const changed = Promise.withResolvers<void>();
  client.setNotificationHandler("notifications/tools/list_changed", () => changed.resolve());
  const subscription = await client.listen({ toolsListChanged: true });
  upstream.announce();
  await changed.promise;
  await subscription.close();
});

test("[ours.mcp.versions] after a lost subscription, the gateway opens another one and announces changed lists", async (t) => {
  const fresh = await connect(t);
  await fresh.listTools();
  const changed = Promise.withResolvers<void>();
  fresh.setNotificationHandler("notifications/tools/list_changed", () => changed.resolve());
  const subscription = await fresh.listen({ toolsListChanged: true });
  const subscriptions = () => {
    return upstream.requests.filter(({ body }) => body.includes('"subscriptions/listen"')).length;
  };
  const before = subscriptions();
  upstream.dropSubscriptions();
  await changed.promise;
  // Other sessions open theirs again too.
  assert.ok(subscriptions() > before);
  await subscription.close();
});

test("[ours.mcp.http] requests of 2026-07-28 with missing or different headers get 400 and -32020", async () => {
  const calling = bodyOf("tools/call", { name: "fickle__pay", arguments: {} });
  const method = { "mcp-method": "tools/call" };
  const mismatches: Readonly<Record<string, string>>[] = [
    {},
    { "mcp-method": "tools/list" },
    method,
    { ...method, "mcp-name": "fickle__other" },
    { ...method, "mcp-name": "fickle__pay", "mcp-protocol-version": "2025-11-25" },
  ];
  for (const headers of mismatches) {
    const { status, code } = await post(calling, headers);
    assert.deepEqual([status, code], [400, -32020], JSON.stringify(headers));
  }
  const plain = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  assert.equal((await post(plain, { "mcp-method": "tools/list" })).code, -32020);
});

test("[ours.mcp.http] an unknown version gets 400 and an unknown method 404", async () => {
  const late = "2099-01-01";
  const headers = { "mcp-method": "tools/list" };
  const version = { ...headers, "mcp-protocol-version": late };
  const unknown = await post(bodyOf("tools/list", {}, late), version);
  assert.deepEqual([unknown.status, unknown.code], [400, -32022]);
  for (const method of ["ping", "initialize", "tools/other"]) {
    const { status, code } = await post(bodyOf(method), { "mcp-method": method });
    assert.deepEqual([status, code], [404, -32601], method);
  }
  assert.equal((await post(bodyOf("tools/list"), headers)).status, 200);
});

test("[ours.mcp.param-headers] a call with missing or different Mcp-Param headers gets 400 and -32020", async () => {
  const args = { region: "eu", options: { limit: 42 } };
  const calling = bodyOf("tools/call", { name: "modern__query", arguments: args });
  const named = { "mcp-method": "tools/call", "mcp-name": "modern__query" };
  const requests = await scene.countRequests();
  const mismatches: Readonly<Record<string, string>>[] = [
    {},
    { "mcp-param-region": "eu" },
    { "mcp-param-region": "us", "mcp-param-limit": "42" },
    { "mcp-param-region": "=?base64?*?=", "mcp-param-limit": "42" },
  ];
  for (const headers of mismatches) {
    const { status, code } = await post(calling, { ...named, ...headers });
    assert.deepEqual([status, code], [400, -32020], JSON.stringify(headers));
  }
  assert.equal(await scene.countRequests(), requests);
});

test("[ours.mcp.param-headers] a call of a client with 2026-07-28 with the required headers runs", async () => {
  await client.listTools();
  const args = { region: " é ", options: { limit: 42 } };
  const calling = client.callTool({ name: "modern__query", arguments: args }, PATIENT);
  await scene.decideNext("approve");
  const { content } = (await calling) as CallToolResult;
  assert.deepEqual(content, [{ type: "text", text: JSON.stringify(args) }]);
});
