/**
 * The gateway over Streamable HTTP, on both sides: who gets in, and that letters stay letters.
 */

import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { request as sendRaw } from "node:http";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, type Owner, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CREDENTIAL,
  type HttpServerScene,
  startEverything,
} from "./support/everything-over-http.ts";
import {
  call,
  Fickle,
  number,
  openSession,
  shownRequest,
  spawnGateway,
  statusIs,
  textOf,
  writeConfig,
} from "./support/gateway-scene.ts";

const TOKEN = "client-secret";
const ORIGIN = "https://inbox.example.com";
const HELLO = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "raw", version: "1" },
};

const owner = fileOwner();
let scene: AgentScene;
let fickle: Fickle;
let upstream: HttpServerScene;
let url: string;
let client: Client;

before(async () => {
  scene = await startAgentScene(owner);
  upstream = await startEverything(owner);
  const folder = temporaryFolder(owner);
  fickle = new Fickle(folder);
  const headers = { authorization: `Bearer ${CREDENTIAL}` };
  const servers = { fickle: fickle.config, every: { url: upstream.url, headers } };
  url = await startGateway(owner, folder, servers);
  client = await connect(owner, url);
});

async function startGateway(owner: Owner, folder: string, servers: object, listen = {}) {
  const file = join(folder, "client.token");
  writeFileSync(file, `${TOKEN}\n`);
  chmodSync(file, 0o600);
  const config = writeConfig(folder, scene, servers, {
    listen: { port: 0, token_file: file, origins: [ORIGIN], ...listen },
  });
  const child = spawnGateway(owner, ["--config", config], {
    env: { COUNTERSIGN_API_KEY: scene.token },
  });
  const [, address = ""] = await child.prints(
    "stdout",
    /"mcp_gateway.started","address":"([^"]+)"/,
  );
  return address;
}

function connect(owner: Owner, url: string): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
  });
  return openSession(owner, transport as Transport);
}

/** With headers that fetch would not send. */
function status(headers: Readonly<Record<string, string>>, path = "/mcp"): Promise<number> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: HELLO });
  return new Promise((resolve, reject) => {
    const target = new URL(path, url);
    const all = { "content-type": "application/json", accept: ACCEPT, ...headers };
    const sent = sendRaw(target, { method: "POST", headers: all }, (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject).end(body);
  });
}

const ACCEPT = "application/json, text/event-stream";
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

test("[ours.mcp.http] letters stay letters over HTTP on both sides", async () => {
  const args = { message: "é \u0001", n: number("9007199254740993"), rate: number("1.10") };
  const text = JSON.stringify(args);
  const echoing = call(client, "every__echo", args);
  const id = await scene.nextPending();
  assert.ok((await shownRequest(scene, id)).includes(`"arguments":${text},`));
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.equal(textOf(await echoing), "Echo: é \u0001");
  assert.ok(upstream.bodies.at(-1)?.includes(`"arguments":${text}`), upstream.bodies.at(-1));
  const paying = call(client, "fickle__pay", args);
  await scene.decideNext("approve");
  await paying;
  assert.ok(fickle.calls().at(-1)?.includes(`"arguments":${text}`), fickle.calls().at(-1));
});

test("[ours.mcp.http] an answer reaches the client with unchanged numbers", async () => {
  const headers = { ...AUTHORIZED, "content-type": "application/json", accept: ACCEPT };
  const post = (message: object, more = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return fetch(url, { method: "POST", headers: { ...headers, ...more }, body });
  };
  const hello = await post({ id: 1, method: "initialize", params: HELLO });
  assert.equal(hello.status, 200);
  const session = { "mcp-session-id": hello.headers.get("mcp-session-id") ?? "" };
  await hello.text();
  await post({ method: "notifications/initialized" }, session);
  const params = { name: "fickle__pay", arguments: {} };
  const paying = post({ id: "call-1", method: "tools/call", params }, session);
  await scene.decideNext("approve");
  const text = await (await paying).text();
  assert.match(text, /"id":"call-1"/);
  assert.match(text, /"structuredContent":\{"cents":9007199254740993,"rate":1\.10\}/);
  const twice = '{"jsonrpc":"2.0","id":3,"method":"tools/list","method":"tools/call"}';
  const smuggled = await fetch(url, {
    method: "POST",
    headers: { ...headers, ...session },
    body: twice,
  });
  assert.equal(smuggled.status, 400);
  assert.match(await smuggled.text(), /same key twice/);
  const gone = { ...headers, ...session };
  assert.equal((await fetch(url, { method: "DELETE", headers: gone })).status, 200);
  assert.equal((await post({ id: 9, method: "ping" }, session)).status, 404);
});

test("[ours.mcp.http] requests without the token, with another host name or from a web page are rejected", async () => {
  assert.equal(await status({}), 401);
  assert.equal(await status({ authorization: "Bearer wrong" }), 401);
  assert.equal(await status({ ...AUTHORIZED, host: "evil.example.com" }), 403);
  assert.equal(await status({ ...AUTHORIZED, origin: "https://evil.example.com" }), 403);
  assert.equal(await status({ ...AUTHORIZED, origin: "null" }), 403);
  assert.equal(await status(AUTHORIZED, "/other"), 404);
  assert.equal(await status({ ...AUTHORIZED, "mcp-session-id": "guessed" }), 404);
  assert.equal(await status({ ...AUTHORIZED, origin: ORIGIN }), 200);
});

test("[ours.mcp.http] a 401 of the gateway names the realm of its bearer token", async () => {
  const response = await fetch(url, { method: "POST" });
  await response.body?.cancel();
  assert.equal(response.status, 401);
  assert.equal(response.headers.get("www-authenticate"), 'Bearer realm="countersign-gateway"');
});

test("[ours.mcp.http] a call is cancelled when its client hangs up before the decision", async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: AUTHORIZED },
  });
  const own = await openSession(owner, transport as Transport);
  const calls = fickle.calls().length;
  const refused = assert.rejects(call(own, "fickle__pay"));
  const id = await scene.nextPending();
  // Its connections end; it says nothing.
  await transport.close();
  await refused;
  await statusIs(scene, id, "cancelled");
  assert.equal(fickle.calls().length, calls);
});

test("[ours.mcp.http] sessions are bounded: an idle one makes room, one in use does not", async (t) => {
  const folder = temporaryFolder(t);
  const servers = { fickle: new Fickle(folder).config };
  const address = await startGateway(t, folder, servers, { sessions_max: 1 });
  const first = await connect(t, address);
  const paying = call(first, "pay");
  await scene.nextPending();
  await assert.rejects(connect(t, address), /Too many open sessions/);
  await scene.decideNext("deny");
  assert.equal((await paying).isError, true);
});

test("[ours.mcp.http] a server that redirects or stops gets no credential and blocks no other server", async (t) => {
  const folder = temporaryFolder(t);
  const own = await startEverything(t);
  const target = await startEverything(t);
  const redirecting = await startEverything(t, target.url);
  const headers = { authorization: `Bearer ${CREDENTIAL}` };
  const address = await startGateway(t, folder, {
    own: { url: own.url, headers },
    away: { url: redirecting.url, headers },
  });
  const session = await connect(t, address);
  assert.equal(target.bodies.length, 0);
  const running = call(session, "own__echo", { message: "hang" });
  await scene.decideNext("approve");
  await eventually("the call at its server", () => {
    return own.bodies.find((body) => body.includes("hang"));
  });
  own.stop();
  assert.match(textOf(await running), /The tool may have run/);
});
