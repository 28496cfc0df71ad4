// Needs: nginx, caddy
/**
 * The configuration files of deploy/nginx and deploy/caddy in the real proxies. The short time-out
 * is shortened to one second, so that a test does not wait for 20 s.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { startServer } from "@countersign/testing/countersign";
import { findFreePort } from "@countersign/testing/free-port";
import { PROXIES, type ProxyName, type RunningProxy, startProxy } from "./proxies.ts";

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const SHORT_TIME_OUTS: Readonly<Record<ProxyName, readonly (readonly [string, string])[]>> = {
  nginx: [["proxy_read_timeout 20s", "proxy_read_timeout 1s"]],
  caddy: [["response_header_timeout 20s", "response_header_timeout 1s"]],
};

async function start(
  t: TestContext,
  name: ProxyName,
  ports: readonly number[],
): Promise<RunningProxy> {
  let proxy: RunningProxy | undefined;
  // Before the folder goes.
  t.after(() => proxy?.stop());
  const folder = temporaryFolder(t, "countersign-proxy-");
  proxy = await startProxy(name, join(folder, "proxy"), ports, SHORT_TIME_OUTS[name]);
  return proxy;
}

async function send(
  proxy: RunningProxy,
  method: string,
  path: string,
  headers = {},
): Promise<Answer> {
  const agent = new Agent({ ca: proxy.ca });
  const place = { host: "127.0.0.1", servername: "localhost", port: proxy.port };
  const host = { host: `localhost:${proxy.port}` };
  const sent = request({ ...place, agent, method, path, headers: { ...host, ...headers } });
  sent.end();
  const [response] = await once(sent, "response");
  let text = "";
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, headers: response.headers, text };
}

/** Exchanges that a server may answer late, and those that it answers at once. */
const LONG = [
  ["GET", "/v1/requests/01?wait=30s"],
  ["GET", "/v1/requests/01?a=b&wait=30s"],
] as const;
const STREAMS = [
  ["GET", "/review/v1/events"],
  ["GET", "/review/v1/history/export"],
  ["GET", "/review/v1/audit/export?log=project"],
  ["GET", "/review/v1/audit/verify"],
  ["POST", "/review/v1/policy/simulate"],
  ["POST", "/review/v1/floor/simulate"],
] as const;
const SHORT = [
  ["POST", "/v1/requests"],
  ["GET", "/v1/requests/01"],
  ["DELETE", "/v1/requests/01"],
  ["POST", "/review/v1/requests/01/verdict"],
  ["GET", "/review/v1/requests"],
  ["GET", "/inbox"],
] as const;

for (const name of PROXIES) {
  test(`[ours.deploy.proxies] ${name}: a frozen replica holds only polls and streams for long`, async (t) => {
    const server = await startServer(t, { args: ["--unauthenticated-rate", "0"] });
    const proxy = await start(t, name, [Number(server.port)]);
    assert.equal((await send(proxy, "GET", "/healthz")).status, 200);
    // Caddy waits for the headers alone, and the server sends those of a stream at once.
    const locations = name === "nginx" ? [...LONG, ...STREAMS] : LONG;
    const sendAll = (exchanges: readonly (readonly [string, string])[]): Promise<number[]> =>
      Promise.all(
        exchanges.map(async ([method, path]) => (await send(proxy, method, path)).status),
      );
    server.process.signal("SIGSTOP");
    t.after(() => server.process.signal("SIGCONT"));
    const polls = sendAll(locations);
    const others = await sendAll(SHORT);
    server.process.signal("SIGCONT");
    assert.deepEqual([...new Set(others)], [503]);
    // The server's own answer to a caller without a token, after the proxy gave up on the others.
    assert.deepEqual([...new Set(await polls)], [401]);
  });

  test(`[ours.deploy.proxies] ${name}: with two of three replicas down, the third one answers all`, async (t) => {
    const server = await startServer(t, { args: ["--unauthenticated-rate", "0"] });
    const proxy = await start(t, name, [
      await findFreePort(),
      await findFreePort(),
      Number(server.port),
    ]);
    const sent = Array.from({ length: 20 }, () => send(proxy, "POST", "/v1/requests"));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    assert.deepEqual([...new Set(statuses)], [401]);
  });

  test(`[ours.deploy.proxies] ${name}: no replica left is 503 unavailable with Retry-After`, async (t) => {
    const proxy = await start(t, name, [await findFreePort()]);
    for (const path of ["/v1/requests/01", "/v1/requests/01?wait=30s", "/review/v1/events"]) {
      const { status, headers, text } = await send(proxy, "GET", path);
      assert.equal(status, 503, path);
      assert.equal(headers["retry-after"], "2");
      assert.equal((JSON.parse(text) as { error: { code: string } }).error.code, "unavailable");
    }
  });

  test(`[ours.deploy.proxies] ${name}: the server gets the client's address, and /metrics stays inside`, async (t) => {
    const seen: [string | undefined, unknown][] = [];
    const upstream = createServer((incoming, response) => {
      if (incoming.url !== "/readyz")
        seen.push([incoming.url, incoming.headers["x-forwarded-for"]]);
      response.end();
    }).listen(0, "127.0.0.1");
    await once(upstream, "listening");
    t.after(() => upstream.close());
    const proxy = await start(t, name, [(upstream.address() as AddressInfo).port]);
    seen.length = 0;
    const forged = { "x-forwarded-for": "203.0.113.7" };
    assert.equal((await send(proxy, "GET", "/metrics", forged)).status, 404);
    const paths = ["/inbox", "/v1/requests/01?wait=1s"];
    for (const path of paths) {
      assert.equal((await send(proxy, "GET", path, forged)).status, 200);
    }
    assert.deepEqual(
      seen,
      paths.map((path) => [path, "127.0.0.1"]),
    );
  });
}
