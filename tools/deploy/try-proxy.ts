/**
 * Puts a real nginx or Caddy, with the configuration in deploy/, in front of two real replicas on a
 * real PostgreSQL, and tries what the configuration promises:
 *
 *   node tools/deploy/try-proxy.ts nginx     (or caddy; the program must be installed)
 *
 * Takes about a minute. Time-outs and stopped replicas are tested in proxies.test.ts.
 */

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { Agent, type RequestOptions, request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { temporaryFolder } from "@countersign/testing/child";
import { type Server, startServer } from "@countersign/testing/countersign";
import {
  createToken,
  type OpenedContext,
  openContext,
  readConfig,
  toSecrets,
  toSettings,
} from "../../packages/server/src/index.ts";
import { createDatabase, startPostgres } from "../../packages/server/test/support/postgres.ts";
import { PROXIES, type RunningProxy, startProxy } from "./proxies.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

type Call = Readonly<{ token?: string; body?: string; key?: string }>;

type Send = (method: string, path: string, call?: Call) => Promise<Answer>;

interface Scene {
  readonly send: Send;
  readonly servers: [Server, Server];
  readonly instance: string;
  readonly reviewer: string;
}

const BODY_BYTES_MAX = 1_048_576;

const ends: (() => Promise<void>)[] = [];
const owner = { after: (end: () => Promise<void>) => void ends.unshift(end) };

function step(text: string): void {
  console.log(`  ok: ${text}`);
}

/** Talks to a proxy as a client of another machine would, over kept connections. */
function sender(proxy: RunningProxy): Send {
  const agent = new Agent({ keepAlive: true, ca: proxy.ca });
  const place: RequestOptions = { host: "127.0.0.1", servername: "localhost", port: proxy.port };
  return async (method, path, { token, body, key } = {}) => {
    const headers = {
      host: `localhost:${proxy.port}`,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && { "idempotency-key": key }),
      ...(body !== undefined && {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      }),
    };
    const sent = request({ ...place, agent, method, path, headers });
    sent.end(body);
    const [response] = await once(sent, "response");
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: response.statusCode, headers: response.headers, text };
  };
}

async function startReplicas(): Promise<{ servers: [Server, Server]; opened: OpenedContext }> {
  const database = await startPostgres();
  owner.after(() => database.stop());
  const url = await createDatabase(database);
  const key = randomBytes(32).toString("base64");
  const env = { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_SECRET_KEY: key };
  const args = ["--instance-rate", "0", "--unauthenticated-rate", "0"];
  const servers = await Promise.all([
    startServer(owner, { env, args }),
    startServer(owner, { env, args }),
  ]);
  const data = join(temporaryFolder(owner), "data");
  const config = readConfig({ data, database_url: url, secret_key: key }, {});
  const opened = await openContext(toSettings(config), toSecrets(config));
  owner.after(() => opened.close());
  return { servers, opened };
}

function submission(reasoning = ""): string {
  const body = { tool: "deploy", arguments: { env: "prod" }, timeout: "1h" };
  return JSON.stringify({ ...body, agent_reasoning: reasoning });
}

async function submit({ send, instance }: Scene): Promise<string> {
  const call = { token: instance, key: randomUUID(), body: submission() };
  const { status, text } = await send("POST", "/v1/requests", call);
  assert.equal(status, 201, text);
  return (JSON.parse(text) as { id: string }).id;
}

/** @returns status and what the request's state was, for each poll */
function poll({ send, instance }: Scene, ids: readonly string[], wait: string): Promise<string[]> {
  const each = ids.map(async (id) => {
    const path = `/v1/requests/${id}?wait=${wait}`;
    const { status, text } = await send("GET", path, { token: instance });
    return `${status} ${/"status":"(\w+)"/.exec(text)?.[1]}`;
  });
  return Promise.all(each);
}

async function trySizes({ send, instance }: Scene): Promise<void> {
  const fill = (bytes: number) => submission("x".repeat(bytes - submission().length));
  const post = (bytes: number) =>
    send("POST", "/v1/requests", { token: instance, key: randomUUID(), body: fill(bytes) });
  assert.equal((await post(BODY_BYTES_MAX)).status, 201);
  step("a body of 1 MiB is taken");
  for (const bytes of [BODY_BYTES_MAX + 1, 2 * BODY_BYTES_MAX]) {
    const { status, text, headers } = await post(bytes);
    assert.equal(status, 400, `${bytes}: ${text}`);
    const { error } = JSON.parse(text) as { error: Record<string, string> };
    assert.equal(error.code, "body_too_large");
    assert.equal(error.request_id, headers["x-request-id"]);
  }
  step("one byte more, and a megabyte more, is 400 body_too_large in the contract's form");
  assert.equal((await send("GET", "/metrics")).status, 404);
  assert.equal((await send("GET", "/healthz")).status, 200);
  step("metrics are not let out, health is");
}

async function tryPolls(scene: Scene): Promise<void> {
  const { send, reviewer } = scene;
  const startedAt = performance.now();
  assert.deepEqual(await poll(scene, [await submit(scene)], "30s"), ["200 pending"]);
  const waitedS = (performance.now() - startedAt) / 1000;
  assert.ok(waitedS > 29.5, `waited for ${waitedS} s only`);
  step(`a poll waits for its 30 s (${waitedS.toFixed(1)} s)`);

  const ids = await Promise.all(Array.from({ length: 50 }, () => submit(scene)));
  const polls = poll(scene, ids, "30s");
  for (const id of ids) {
    const shown = await send("GET", `/review/v1/requests/${id}`, { token: reviewer });
    const digest = /"arguments_sha256":"(\w+)"/.exec(shown.text)?.[1];
    const body = JSON.stringify({ verdict: "approve", arguments_sha256: digest });
    const path = `/review/v1/requests/${id}/verdict`;
    assert.equal((await send("POST", path, { token: reviewer, body })).status, 200);
  }
  assert.deepEqual([...new Set(await polls)], ["200 approved"]);
  step("50 polls over both replicas are answered when their requests are approved");
}

async function tryStops(scene: Scene): Promise<void> {
  const [first, second] = scene.servers;
  const ids = await Promise.all(Array.from({ length: 20 }, () => submit(scene)));
  const released = poll(scene, ids, "3s");
  // Each poll is a request that has arrived before this one is answered.
  await submit(scene);
  await first.stop();
  assert.deepEqual([...new Set(await released)], ["200 pending"]);
  step("20 polls are answered while a replica is stopped with SIGTERM");
  for (let i = 0; i < 50; i++) await submit(scene);
  step("50 requests are submitted while one of two replicas is gone");

  const polls = poll(scene, ids, "2s").catch((error: unknown) => [String(error)]);
  await second.kill();
  const answers = new Set(await polls);
  assert.deepEqual([...answers], ["503 undefined"]);
  const { status, headers, text } = await scene.send("GET", "/healthz");
  assert.equal(status, 503);
  assert.ok(Number(headers["retry-after"]) > 0);
  const { error } = JSON.parse(text) as { error: Record<string, string> };
  assert.equal(error.code, "unavailable");
  assert.equal(error.request_id, headers["x-request-id"]);
  step("with no replica left, everything is 503 with Retry-After in the contract's form");
}

type StartProxy = (ports: readonly [number, number]) => Promise<RunningProxy>;

/** Upstreams that read what they are sent and hang up. */
async function tryHangUps(start: StartProxy): Promise<void> {
  const seen: string[] = [];
  const ports: number[] = [];
  for (let i = 0; i < 2; i++) {
    const server = createServer(async (incoming, response) => {
      for await (const _ of incoming);
      if (incoming.url === "/readyz") {
        response.end();
      } else {
        seen.push(`${incoming.method}`);
        incoming.socket.destroy();
      }
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    owner.after(async () => void server.close());
    ports.push((server.address() as AddressInfo).port);
  }
  const proxy = await start(ports as [number, number]);
  const send = sender(proxy);
  for (const method of ["POST", "PATCH"]) {
    seen.length = 0;
    const { status } = await send(method, "/v1/requests", { body: submission() });
    assert.equal(status, 503);
    assert.deepEqual(seen, [method]);
  }
  step("POST and PATCH are sent to one replica, once, also when it hangs up");
  await proxy.stop();
}

async function tryProxy(name: Parameters<typeof startProxy>[0]): Promise<void> {
  console.log(`${name} in front of two replicas`);
  const folder = temporaryFolder(owner, "countersign-proxy-");
  const { servers, opened } = await startReplicas();
  const ports = servers.map(({ port }) => Number(port)) as [number, number];
  const proxy = await startProxy(name, join(folder, "front"), ports);
  owner.after(() => proxy.stop());
  const order = { project: "default", role: "reviewer", expiresAt: null } as const;
  const token = async (kind: "provisioner" | "reviewer") =>
    (await createToken(opened.context, { ...order, kind, name: kind })).token;
  const send = sender(proxy);
  const call = { token: await token("provisioner"), key: "first", body: "{}" };
  const { text } = await send("POST", "/v1/instances", call);
  const [, instance = ""] = /"token":"([^"]+)"/.exec(text) ?? [];
  const scene = { send, servers, instance, reviewer: await token("reviewer") };
  await trySizes(scene);
  await tryPolls(scene);
  await tryStops(scene);
  await proxy.stop();
  await tryHangUps((other) => startProxy(name, join(folder, "hang-up"), other));
}

const { positionals } = parseArgs({ allowPositionals: true });
const names = PROXIES.filter((name) => positionals.includes(name));
if (names.length === 0) {
  console.error(`usage: node tools/deploy/try-proxy.ts ${PROXIES.join("|")}`);
  process.exitCode = 2;
}
try {
  for (const name of names) await tryProxy(name);
} finally {
  for (const end of ends) await end();
}
