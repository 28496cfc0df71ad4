/**
 * HTTP clients with access tokens: a real authorization server, the official clients, and tokens
 * that the gateway must not accept.
 */

import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { type Child, fileOwner, type Owner, temporaryFolder } from "@countersign/testing/child";
import { findFreePort } from "@countersign/testing/free-port";
import {
  type CallToolResult,
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { UnsecuredJWT } from "jose";
import {
  type AuthorizationServer,
  OTHER_KEY,
  SCOPE,
  startAuthorizationServer,
  visit,
} from "./support/authorization-server.ts";
import {
  CREDENTIAL,
  type HttpServerScene,
  startEverything,
} from "./support/everything-over-http.ts";
import { Fickle, shownRequest, spawnGateway, writeConfig } from "./support/gateway-scene.ts";

const REDIRECT = "http://127.0.0.1:1/callback";
const PATIENT = { timeout: 60_000 };
const STATIC = "client-secret";

const owner = fileOwner();
let scene: AgentScene;
let issuer: AuthorizationServer;
let upstream: HttpServerScene;
let fickle: Fickle;
let gateway: Gateway;

interface Gateway {
  readonly url: string;
  readonly child: Child;
}

before(async () => {
  scene = await startAgentScene(owner);
  issuer = await startAuthorizationServer(owner);
  upstream = await startEverything(owner);
  const folder = temporaryFolder(owner);
  fickle = new Fickle(folder);
  gateway = await startGateway(owner, folder, { issuer: issuer.issuer });
});

async function startGateway(
  to: Owner,
  folder: string,
  oauth: Readonly<Record<string, unknown>>,
): Promise<Gateway> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const file = join(folder, "client.token");
  writeFileSync(file, STATIC);
  chmodSync(file, 0o600);
  const headers = { authorization: `Bearer ${CREDENTIAL}` };
  const servers = { fickle: fickle.config, every: { url: upstream.url, headers } };
  const listen = {
    port,
    token_file: file,
    oauth: { resource: url, scopes: [SCOPE], ...oauth },
  };
  const config = writeConfig(folder, scene, servers, { listen });
  const env = { COUNTERSIGN_API_KEY: scene.token };
  const child = spawnGateway(to, ["--config", config], { env });
  await child.prints("stdout", /"mcp_gateway.started"/);
  return { url, child };
}

class LoginOfClient implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: "test client",
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    application_type: "native",
  };
  readonly stored: Record<string, unknown> = {};
  visited: URL | undefined;

  clientInformation() {
    return this.stored["client"] as ReturnType<OAuthClientProvider["clientInformation"]>;
  }

  saveClientInformation(client: unknown): void {
    this.stored["client"] = client;
  }

  tokens() {
    return this.stored["tokens"] as ReturnType<OAuthClientProvider["tokens"]>;
  }

  saveTokens(tokens: unknown): void {
    this.stored["tokens"] = tokens;
  }

  saveCodeVerifier(verifier: string): void {
    this.stored["verifier"] = verifier;
  }

  codeVerifier(): string {
    return String(this.stored["verifier"]);
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.visited = await visit(url, REDIRECT);
  }
}

/** Logs in with the metadata of the gateway alone, and opens a session. */
async function logIn(to: Owner, account: string, version?: string) {
  issuer.account = account;
  const authProvider = new LoginOfClient();
  const target = new URL(gateway.url);
  const connect = async () => {
    const options = version && { versionNegotiation: { mode: { pin: version } } };
    const client = new Client({ name: "test", version: "1" }, options || {});
    const transport = new StreamableHTTPClientTransport(target, { authProvider });
    to.after(() => client.close());
    return { client, transport, connected: client.connect(transport) };
  };
  const first = await connect();
  await assert.rejects(first.connected, { name: "UnauthorizedError" });
  const callback = authProvider.visited;
  assert.ok(callback !== undefined, "the client did not visit the authorization server");
  await first.transport.finishAuth(callback.searchParams);
  const { client, transport, connected } = await connect();
  await connected;
  const tokens = (await authProvider.tokens()) as { access_token: string };
  return { client, transport, token: tokens.access_token };
}

async function post(
  token: string | undefined,
  { url = gateway.url, headers = {} }: { url?: string; headers?: Record<string, string> } = {},
) {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  const text = await response.text();
  const challenge = response.headers.get("www-authenticate") ?? "";
  return { status: response.status, text, challenge };
}

for (const version of ["2025-11-25", "2026-07-28"]) {
  test(`[ours.mcp.oauth] an official client with ${version} logs in with the metadata of the gateway, and the request names its user`, async (t) => {
    const isModern = version === "2026-07-28";
    const { client, token } = await logIn(t, "ana", isModern ? version : undefined);
    const params = { name: "every__echo", arguments: { message: "hello" } };
    const echoing = client.callTool(params, PATIENT) as Promise<CallToolResult>;
    const id = await scene.nextPending();
    const { context } = JSON.parse(await shownRequest(scene, id)) as {
      context: Record<string, unknown>;
    };
    assert.equal(context["user"], "ana");
    await scene.server.decide(scene.reviewer, id, "approve");
    assert.match(JSON.stringify((await echoing).content), /hello/);
    assert.ok(upstream.authorizations.includes(`Bearer ${CREDENTIAL}`));
    assert.ok(!upstream.authorizations.some((sent) => sent?.includes(token)));
    assert.ok(!upstream.bodies.some((body) => body.includes(token)));
    assert.ok(!fickle.lines().some((line) => line.includes(token)));
    assert.ok(!gateway.child.stderr.includes(token), "a log line contains the token");
  });
}

test("[ours.mcp.oauth] the metadata has the path of the resource, and needs no token", async () => {
  const { origin } = new URL(gateway.url);
  const expected = {
    resource: gateway.url,
    authorization_servers: [issuer.issuer],
    bearer_methods_supported: ["header"],
    scopes_supported: [SCOPE],
    resource_name: "Countersign MCP gateway",
  };
  for (const path of ["", "/mcp"]) {
    const url = `${origin}/.well-known/oauth-protected-resource${path}`;
    const response = await fetch(url);
    assert.deepEqual(await response.json(), expected);
    assert.equal((await fetch(url, { method: "POST" })).status, 405);
  }
  const other = await fetch(`${origin}/.well-known/oauth-protected-resource/other`);
  assert.equal(other.status, 401);
  await other.body?.cancel();
});

test("[ours.mcp.oauth] a 401 without a token contains the address of the metadata and no error", async () => {
  const { status, challenge } = await post(undefined);
  assert.equal(status, 401);
  const metadata = gateway.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
  assert.equal(
    challenge,
    `Bearer realm="countersign-gateway", resource_metadata="${metadata}", scope="${SCOPE}"`,
  );
});

const FOREIGN = "https://other.example.com/mcp";

const REJECTED: Readonly<Record<string, () => Promise<string> | string>> = {
  "for another resource": () => issuer.sign({ aud: FOREIGN }),
  "for the origin of the gateway": () => issuer.sign({ aud: new URL(gateway.url).origin }),
  "without an audience": () => issuer.sign({}),
  "of another issuer": () => issuer.sign({ aud: gateway.url, iss: "https://evil.example.com" }),
  "that has expired": () => issuer.sign({ aud: gateway.url, exp: 1_700_000_000 }),
  "without an expiry": () => issuer.sign({ aud: gateway.url, exp: undefined }),
  "that is not valid yet": () => issuer.sign({ aud: gateway.url, nbf: 4_000_000_000 }),
  "without a subject": () => issuer.sign({ aud: gateway.url, sub: undefined }),
  "with a key of its own": () => issuer.sign({ aud: gateway.url }, { key: OTHER_KEY }),
  "with an unknown key id": () => {
    return issuer.sign({ aud: gateway.url }, { key: OTHER_KEY, header: { kid: "two" } });
  },
  "that is signed with the public key as a secret": () => {
    return issuer.sign({ aud: gateway.url }, { key: issuer.publicKey, header: { alg: "HS256" } });
  },
  "that is not signed": () => {
    const claims = new UnsecuredJWT({ scope: SCOPE }).setAudience(gateway.url);
    return claims.setIssuer(issuer.issuer).setSubject("ana").setExpirationTime("1h").encode();
  },
  "of another type": () => issuer.sign({ aud: gateway.url }, { header: { typ: "logout+jwt" } }),
  "that is bound to a key of the client": () => {
    return issuer.sign({ aud: gateway.url, cnf: { jkt: "thumbprint" } });
  },
  "that is not a JWT": () => "opaque-token-value",
};

for (const [name, make] of Object.entries(REJECTED)) {
  test(`[ours.mcp.oauth] a token ${name} gets 401 invalid_token`, async () => {
    const token = await make();
    const { status, text, challenge } = await post(token);
    assert.equal(status, 401, text);
    assert.match(challenge, /error="invalid_token"/);
    assert.match(challenge, /resource_metadata="/);
    await gateway.child.prints("stderr", /"event":"mcp_gateway.token_rejected"/);
    assert.ok(![text, challenge, gateway.child.stderr].join().includes(token));
  });
}

test("[ours.mcp.oauth] a token without the required scope gets 403 insufficient_scope", async () => {
  const { status, challenge } = await post(
    await issuer.sign({ aud: gateway.url, scope: "openid mcp:tools:read" }),
  );
  assert.equal(status, 403);
  assert.match(challenge, /error="insufficient_scope"/);
  assert.match(challenge, /scope="mcp:tools"/);
  const granted = await issuer.sign({ aud: [FOREIGN, gateway.url], scope: `openid ${SCOPE}` });
  assert.equal((await post(granted)).status, 200);
});

test("[ours.mcp.oauth] the token of the gateway is accepted beside access tokens", async () => {
  assert.equal((await post(STATIC)).status, 200);
  assert.equal((await post("client-secre")).status, 401);
});

test("[ours.mcp.oauth] a user cannot use the session of another user", async (t) => {
  const { client, transport } = await logIn(t, "ana");
  const headers = {
    "mcp-session-id": transport.sessionId ?? "",
    "mcp-protocol-version": "2025-11-25",
  };
  const bob = await issuer.sign({ aud: gateway.url, sub: "bob" });
  assert.equal((await post(bob, { headers })).status, 404);
  assert.equal((await post(STATIC, { headers })).status, 404);
  assert.ok((await client.listTools()).tools.length > 0);
});

test("[ours.mcp.oauth] a user with 2026-07-28 cannot read the task of another user", async () => {
  const call = async (sub: string, method: string, params: object) => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {
        extensions: { "io.modelcontextprotocol/tasks": {} },
      },
    };
    const named = params as { readonly name?: string };
    const response = await fetch(gateway.url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${await issuer.sign({ aud: gateway.url, sub })}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...(named.name !== undefined && { "mcp-name": named.name }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
    });
    return response.text();
  };
  const started = await call("ana", "tools/call", { name: "fickle__pay", arguments: {} });
  const [, taskId = ""] = /"taskId":"([^"]+)"/.exec(started) ?? [];
  assert.notEqual(taskId, "", started);
  assert.match(await call("ana", "tasks/get", { taskId }), /"status":"working"/);
  assert.match(await call("bob", "tasks/get", { taskId }), /There is no task with this id/);
  await scene.decideNext("deny");
});

test("[ours.mcp.oauth] --check reads the keys of the issuer, and fails without them", async (t) => {
  const folder = temporaryFolder(t);
  const check = (named: string) => {
    const oauth = { issuer: named, resource: gateway.url };
    const servers = { fickle: fickle.config };
    const config = writeConfig(folder, scene, servers, { listen: { oauth } });
    const env = { COUNTERSIGN_API_KEY: scene.token };
    return spawnGateway(t, ["--config", config, "--check"], { env }).ends();
  };
  const { code, stdout } = await check(issuer.issuer);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /^issuer: http\S+: its keys are available$/m);
  const slash = await check(`${issuer.issuer}/`);
  assert.equal(slash.code, 1);
  assert.match(slash.stdout, /^issuer: Set oauth\.issuer to http/m);
});

test("[ours.mcp.oauth] if the metadata names another issuer or the issuer is down, tokens get 503", async (t) => {
  const liar = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/jwks` }));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => liar.once("listening", resolve));
  t.after(() => liar.close());
  const address = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
  const stopped = await startAuthorizationServer(t);
  await stopped.stop();
  for (const named of [address, stopped.issuer]) {
    const { url, child } = await startGateway(t, temporaryFolder(t), { issuer: named });
    const token = await issuer.sign({ aud: url, iss: named });
    assert.equal((await post(token, { url })).status, 503);
    await child.prints("stderr", /"event":"mcp_gateway.token_not_checked"/);
    assert.equal((await post(STATIC, { url })).status, 200);
  }
});
