/**
 * Servers that require access tokens: the login in a browser, refreshed tokens, and machines. The
 * authorization server and the server check everything for real.
 */

import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { type Child, fileOwner, type Owner, temporaryFolder } from "@countersign/testing/child";
import { ServerAccess } from "../src/oauth/server-access.ts";
import {
  type AuthorizationServer,
  DESKTOP,
  MACHINE,
  startAuthorizationServer,
  visit,
} from "./support/authorization-server.ts";
import {
  call,
  connectGateway,
  spawnGateway,
  textOf,
  writeConfig,
} from "./support/gateway-scene.ts";
import { type ProtectedServer, startProtectedServer } from "./support/protected-server.ts";

const owner = fileOwner();
let scene: AgentScene;
let issuer: AuthorizationServer;

before(async () => {
  scene = await startAgentScene(owner);
  issuer = await startAuthorizationServer(owner);
});

interface Place {
  readonly folder: string;
  readonly config: string;
  readonly upstream: ProtectedServer;
  readonly servers: object;
}

async function prepare(to: Owner, oauth: object = {}): Promise<Place> {
  const upstream = await startProtectedServer(to, issuer.issuer);
  const folder = temporaryFolder(to);
  const servers = { crm: { url: upstream.url, oauth } };
  return { folder, config: writeConfig(folder, scene, servers), upstream, servers };
}

function run(to: Owner, args: readonly string[], env = {}): Child {
  return spawnGateway(to, args, { env: { COUNTERSIGN_API_KEY: scene.token, ...env } });
}

/** Starts a login, and opens its address in a browser. @returns the URL of the redirect */
async function startLogin(to: Owner, { config }: Place) {
  const child = run(to, ["--config", config, "--login", "crm"]);
  const [address = ""] = await child.prints("stdout", /^http\S+$/m);
  const started = new URL(address);
  const redirect = started.searchParams.get("redirect_uri") ?? "";
  return { child, started, callback: await visit(started, redirect) };
}

async function logIn(to: Owner, place: Place): Promise<Child> {
  const { child, callback } = await startLogin(to, place);
  const response = await fetch(callback);
  assert.equal(await response.text(), "Return to the terminal.");
  const { code, stderr } = await child.ends();
  assert.equal(code, 0, stderr);
  return child;
}

function loginFile({ folder }: Place): string {
  return join(folder, "state-logins/crm.json");
}

interface Stored {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: number;
}

function stored(place: Place): Stored {
  return JSON.parse(readFileSync(loginFile(place), "utf8")) as Stored;
}

/** As if the access token had expired. */
function expire(place: Place): Stored {
  const login = stored(place);
  writeFileSync(loginFile(place), JSON.stringify({ ...login, expiresAt: 1 }));
  return login;
}

function gatewayOf(to: Owner, { servers, folder }: Place) {
  return connectGateway(to, scene, servers, { config: { state: join(folder, "state") } });
}

async function echo(to: Owner, place: Place): Promise<string> {
  const { client } = await gatewayOf(to, place);
  const echoing = call(client, "echo", { message: "hello" });
  await scene.decideNext("approve");
  return textOf(await echoing);
}

test("[ours.mcp.login] after a login in a browser, the gateway calls the server with the token of the user", async (t) => {
  const place = await prepare(t);
  const { started, callback, child } = await startLogin(t, place);
  assert.equal(started.searchParams.get("resource"), place.upstream.url);
  assert.equal(started.searchParams.get("code_challenge_method"), "S256");
  assert.match(started.searchParams.get("redirect_uri") ?? "", /^http:\/\/127\.0\.0\.1:\d+\//);
  await (await fetch(callback)).text();
  const { code, stdout, stderr } = await child.ends();
  assert.equal(code, 0, stderr);
  const { accessToken, refreshToken } = stored(place);
  assert.ok(![stdout, stderr].join().includes(accessToken));
  assert.ok(![stdout, stderr].join().includes(refreshToken));
  assert.equal(statSync(loginFile(place)).mode & 0o777, 0o600);
  assert.equal(await echo(t, place), "Echo: hello");
  assert.deepEqual(new Set(place.upstream.accepted), new Set([accessToken]));
  const [name] = readdirSync(join(place.folder, "state-logins"));
  assert.equal(name, "crm.json");
});

test("[ours.mcp.login] without a login, the error contains the command that logs in", async (t) => {
  const place = await prepare(t);
  const { code, stdout } = await run(t, ["--config", place.config, "--check"]).ends();
  assert.equal(code, 1);
  assert.match(stdout, /The server crm needs a login\. Run: .* --login crm/);
  assert.deepEqual(place.upstream.received, []);
});

test("[ours.mcp.login] an expired token is refreshed once for all gateways, and the new refresh token is stored", async (t) => {
  const place = await prepare(t);
  await logIn(t, place);
  const old = expire(place);
  const refreshes = () => {
    return issuer.tokenRequests.filter((sent) => sent["refresh_token"] === old.refreshToken);
  };
  const server = { name: "crm", url: place.upstream.url, oauth: LOGIN };
  const several = [1, 2, 3].map(() => new ServerAccess(server, join(place.folder, "state")));
  const tokens = await Promise.all(several.map((access) => access.token()));
  assert.equal(new Set(tokens).size, 1);
  assert.equal(refreshes().length, 1);
  assert.equal(refreshes()[0]?.["resource"], place.upstream.url);
  const now = stored(place);
  assert.notEqual(now.accessToken, old.accessToken);
  assert.notEqual(now.refreshToken, old.refreshToken);
  assert.equal(statSync(loginFile(place)).mode & 0o777, 0o600);
  assert.equal(await echo(t, place), "Echo: hello");
});

test("[ours.mcp.login] a token that the server rejects is refreshed", async (t) => {
  const place = await prepare(t);
  await logIn(t, place);
  const { accessToken } = stored(place);
  place.upstream.revoked.add(accessToken);
  assert.equal(await echo(t, place), "Echo: hello");
  assert.notEqual(stored(place).accessToken, accessToken);
});

test("[ours.mcp.login] if the refresh fails, the call does not run and the error names the command", async (t) => {
  const place = await prepare(t);
  await logIn(t, place);
  const login = expire(place);
  const changed = { ...login, expiresAt: 1, refreshToken: "revoked-refresh-token" };
  writeFileSync(loginFile(place), JSON.stringify(changed));
  const { code, stdout, stderr } = await run(t, ["--config", place.config, "--check"]).ends();
  assert.equal(code, 1);
  assert.match(stdout, /returned the error invalid_grant\. Run: .* --login crm/);
  assert.ok(![stdout, stderr].join().includes("revoked-refresh-token"));
});

test("[ours.mcp.login] a call of a session without access does not run, and its error says so", async (t) => {
  const place = await prepare(t);
  await logIn(t, place);
  const { client } = await gatewayOf(t, place);
  await client.listTools();
  const changed = { ...expire(place), expiresAt: 1, refreshToken: "revoked-refresh-token" };
  const calling = call(client, "echo", { message: "hello" });
  await scene.nextPending();
  writeFileSync(loginFile(place), JSON.stringify(changed));
  place.upstream.revoked.add(changed.accessToken);
  await scene.decideNext("approve");
  assert.match(textOf(await calling), /no access to the server of this tool, so it was not run/);
});

test("[ours.mcp.login] without oauth in the config, the error of a protected server names the key", async (t) => {
  const { upstream, folder } = await prepare(t);
  const config = writeConfig(folder, scene, { crm: { url: upstream.url } });
  const { stdout } = await run(t, ["--config", config, "--check"]).ends();
  assert.match(stdout, /requires an access token: set oauth/);
});

test("[ours.mcp.login] a token with too few scopes fails with the required scopes", async (t) => {
  const place = await prepare(t);
  await logIn(t, place);
  place.upstream.requireScope("mcp:admin");
  const { stdout } = await run(t, ["--config", place.config, "--check"]).ends();
  assert.match(stdout, /the token has too few scopes: mcp:admin/);
});

test("[ours.mcp.login] a registered client logs in with its id, and a slash after the issuer makes no difference", async (t) => {
  const place = await prepare(t, { client_id: DESKTOP.client_id, issuer: `${issuer.issuer}/` });
  await logIn(t, place);
  assert.equal(await echo(t, place), "Echo: hello");
});

test("[ours.mcp.login] if the issuer accepts client metadata documents, the URL is the client id", async (t) => {
  const url = "https://gateway.example.com/client.json";
  const place = await prepare(t, { client_metadata_url: url });
  const path = "/.well-known/oauth-authorization-server";
  const known = await (await fetch(`${issuer.issuer}/.well-known/openid-configuration`)).json();
  const metadata = { ...(known as object), client_id_metadata_document_supported: true };
  issuer.answers.set(path, (_, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify(metadata));
  });
  t.after(() => void issuer.answers.delete(path));
  const child = run(t, ["--config", place.config, "--login", "crm"]);
  const [address = ""] = await child.prints("stdout", /^http\S+$/m);
  assert.equal(new URL(address).searchParams.get("client_id"), url);
});

test("[ours.mcp.login] a login for another address of the server is not used", async (t) => {
  const place = await prepare(t);
  await logIn(t, place);
  const other = await startProtectedServer(t, issuer.issuer);
  const config = writeConfig(place.folder, scene, { crm: { url: other.url, oauth: {} } });
  const { code, stdout } = await run(t, ["--config", config, "--check"]).ends();
  assert.equal(code, 1);
  assert.match(stdout, /needs a login/);
  assert.deepEqual(other.received, []);
});

test("[ours.mcp.login] a redirect with another state does not end the login", async (t) => {
  const place = await prepare(t);
  const { child, callback } = await startLogin(t, place);
  const forged = new URL(callback);
  forged.searchParams.set("state", "forged");
  forged.searchParams.set("code", "code-of-the-attacker");
  const rejected = await fetch(forged);
  assert.equal(rejected.status, 400);
  await rejected.text();
  assert.equal(existsSync(loginFile(place)), false);
  await (await fetch(callback)).text();
  assert.equal((await child.ends()).code, 0);
});

for (const [title, iss] of [
  ["of another issuer", "https://evil.example.com"],
  ["without an issuer, although the issuer announces it,", undefined],
] as const) {
  test(`[ours.mcp.login] an answer ${title} is not redeemed`, async (t) => {
    const place = await prepare(t);
    const { child, callback } = await startLogin(t, place);
    const code = callback.searchParams.get("code");
    if (iss === undefined) callback.searchParams.delete("iss");
    else callback.searchParams.set("iss", iss);
    await (await fetch(callback)).text();
    const outcome = await child.ends();
    assert.equal(outcome.code, 1);
    assert.match(outcome.stderr, /"iss" \(issuer\)/);
    assert.ok(!issuer.tokenRequests.some((sent) => sent["code"] === code));
    assert.equal(existsSync(loginFile(place)), false);
  });
}

test("[ours.mcp.login] metadata about another resource stops the login", async (t) => {
  const place = await prepare(t);
  place.upstream.metadata["resource"] = "https://bank.example.com/mcp";
  const { code, stderr } = await run(t, ["--config", place.config, "--login", "crm"]).ends();
  assert.equal(code, 1);
  assert.match(stderr, /is about https:\/\/bank\.example\.com\/mcp/);
});

test("[ours.mcp.login] an issuer that is not the configured one stops the login", async (t) => {
  const place = await prepare(t, { issuer: "http://localhost:1" });
  const { code, stderr } = await run(t, ["--config", place.config, "--login", "crm"]).ends();
  assert.equal(code, 1);
  assert.match(stderr, /does not list the issuer/);
});

test("[ours.mcp.login] metadata with another issuer, or without PKCE, stops the login", async (t) => {
  const place = await prepare(t);
  const path = "/.well-known/oauth-authorization-server";
  t.after(() => void issuer.answers.delete(path));
  const answers = {
    "is not valid": { issuer: "https://evil.example.com" },
    "does not support PKCE": { issuer: issuer.issuer, token_endpoint: `${issuer.issuer}/token` },
  };
  for (const [message, metadata] of Object.entries(answers)) {
    issuer.answers.set(path, (_, response) => {
      response.setHeader("content-type", "application/json").end(JSON.stringify(metadata));
    });
    const { code, stderr } = await run(t, ["--config", place.config, "--login", "crm"]).ends();
    assert.equal(code, 1);
    assert.ok(stderr.includes(message), stderr);
  }
});

test("[ours.mcp.login] a machine gets its own token with a client secret of a file or variable", async (t) => {
  const machine = {
    grant: "client_credentials",
    issuer: issuer.issuer,
    client_id: MACHINE.client_id,
  };
  const place = await prepare(t);
  const secretFile = join(place.folder, "secret");
  writeFileSync(secretFile, MACHINE.client_secret);
  chmodSync(secretFile, 0o600);
  const { url } = place.upstream;
  const withFile = { ...machine, client_secret_file: "secret" };
  const withVariable = { ...machine, client_secret_env: "CRM_SECRET" };
  const servers = { file: { url, oauth: withFile }, variable: { url, oauth: withVariable } };
  const config = writeConfig(place.folder, scene, servers);
  const env = { CRM_SECRET: MACHINE.client_secret };
  const child = run(t, ["--config", config, "--check"], env);
  const { code, stdout, stderr } = await child.ends();
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^file: \d+ tools$/m);
  assert.match(stdout, /^variable: \d+ tools$/m);
  assert.ok(![stdout, stderr].join().includes(MACHINE.client_secret));
  const text = readFileSync(join(place.folder, "state-logins/file.json"), "utf8");
  assert.ok(!text.includes(MACHINE.client_secret));
  const missing = await run(t, ["--config", config, "--check"]).ends();
  assert.match(missing.stderr, /the variable CRM_SECRET is not set/);
});

const LOGIN = {
  issuer: undefined,
  clientId: undefined,
  clientSecretFile: undefined,
  clientSecretEnv: undefined,
  clientSecret: undefined,
  clientMetadataUrl: undefined,
  scopes: [],
  isMachine: false,
  redirectPort: 0,
};
