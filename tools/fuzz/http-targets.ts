/**
 * The whole HTTP surface of a real server in this process: exchanges made of parts that fit more or
 * less, and bytes on bare sockets. Nothing of it may end in a 5xx, in a defect in the log, or in a
 * connection that never ends.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { Report } from "@countersign/server";
import fc from "fast-check";
import { type Route, routesOf } from "../../packages/server/test/support/routes.ts";
import {
  startTestProvider,
  type TestProvider,
} from "../../packages/server/test/support/test-provider.ts";
import { edited, inputsOf, jsonTexts, readCorpus } from "./inputs.ts";
import type { Target } from "./targets.ts";

/** Names of fields and values that the routes accept. */
const FIELDS: readonly string[] = [
  "tool",
  "arguments",
  "timeout",
  "agent_reasoning",
  "context",
  "instance_name",
  "delivery",
  "type",
  "url",
  "registration_id",
  "signing_secret",
  "verdict",
  "arguments_sha256",
  "note",
  "valid_for",
  "hold",
  "confirm",
  "source",
  "expected_number",
  "number",
  "scope",
  "instance_id",
  "uses",
  "expires_in",
  "role",
  "groups",
  "scopes",
  "name",
  "kind",
  "login",
  "password",
  "token",
  "answer",
  "endpoint",
  "keys",
  "project_id",
  "limit",
  "query",
  "status",
  "from",
  "to",
];
const VALUES: readonly string[] = [
  '"deploy"',
  '{"env":"prod"}',
  '"1h"',
  '"approve"',
  '"deny"',
  '"project"',
  '"server"',
  '"tool"',
  '"webhook"',
  '"https://example.com/h"',
  '"version: 1\\nrules: []\\n"',
  "0",
  "1",
  "-1",
  "1.5",
  '"admin"',
  '"viewer"',
  '["ops"]',
  '["read"]',
  "[]",
  "{}",
  "null",
  "true",
  '""',
  '"slack"',
];

interface Exchange {
  readonly route: number;
  readonly id: string;
  readonly caller: number;
  readonly query: string;
  readonly body: string;
  readonly type: string;
  readonly key: string;
}

const bodies = fc.oneof(
  fc
    .array(fc.tuple(fc.constantFrom(...FIELDS), fc.oneof(fc.constantFrom(...VALUES), jsonTexts)), {
      maxLength: 8,
    })
    .map((members) => {
      const unique = new Map(members);
      return `{${[...unique].map(([name, value]) => `"${name}":${value}`).join(",")}}`;
    }),
  jsonTexts,
  fc.constant(""),
);

const queries = fc.oneof(
  fc.constant(""),
  fc
    .array(
      fc.tuple(
        fc.constantFrom(
          "wait",
          "limit",
          "before",
          "after",
          "cursor",
          "status",
          "format",
          "tool",
          "q",
        ),
        fc.oneof(
          fc.constantFrom("1", "0", "-1", "1s", "csv", "json", "denied", "%00", "%"),
          fc.webFragments(),
        ),
      ),
      { maxLength: 3 },
    )
    .map((pairs) => `?${pairs.map((pair) => pair.join("=")).join("&")}`),
);

const exchanges: fc.Arbitrary<string> = fc
  .record<Exchange>({
    route: fc.nat({ max: 10_000 }),
    id: fc.oneof(fc.constantFrom("own", "own", "1", "none"), fc.webSegment()),
    caller: fc.nat({ max: 4 }),
    query: queries,
    body: fc.oneof({ weight: 3, arbitrary: bodies }, { weight: 1, arbitrary: edited(bodies) }),
    type: fc.constantFrom(
      "application/json",
      "application/json",
      "text/plain",
      "application/json; charset=utf-8",
    ),
    key: fc.oneof(fc.uuid(), fc.constantFrom("same", "")),
  })
  .map((exchange) => JSON.stringify(exchange));

/** Long polls and streams last by themselves. */
const LASTING = new Set(["followEvents"]);

interface Stage {
  readonly server: TestProvider;
  readonly routes: readonly Route[];
  readonly callers: readonly string[];
  readonly ids: readonly string[];
  readonly defects: string[];
}

let stage: Promise<Stage> | undefined;
const ends: (() => Promise<void> | void)[] = [];

async function start(): Promise<Stage> {
  const defects: string[] = [];
  const server = await startTestProvider(
    { after: (end) => ends.push(end) },
    {
      report: new Report("error", { write: (line: string) => defects.push(line) }),
      settings: {
        instance_rate: "0",
        provisioner_rate: "0",
        reviewer_rate: "0",
        unauthenticated_rate: "0",
        webhooks_off: "true",
      },
    },
  );
  const { token, provisioner, id } = await server.instance();
  const operator = await server.token({ kind: "reviewer", name: "op", role: "operator" });
  const viewer = await server.token({ kind: "reviewer", name: "viewer", role: "viewer" });
  const { id: request } = await server.submit(token);
  const routes = (await routesOf(server)).filter(({ operation }) => !LASTING.has(operation));
  return {
    server,
    routes,
    callers: ["", token, provisioner, operator, viewer],
    ids: [request, id],
    defects,
  };
}

async function end(): Promise<void> {
  stage = undefined;
  for (const each of ends.splice(0).reverse()) await each();
}

function assertNoDefect({ defects }: Stage): void {
  assert.deepEqual(defects.splice(0), []);
}

async function checkExchange(input: string): Promise<void> {
  stage ??= start();
  const { server, routes, callers, ids, defects } = await stage;
  const { route: number, id, caller, query, body, type, key } = JSON.parse(input) as Exchange;
  const route = routes[number % routes.length] as Route;
  const own = ids[number % ids.length] ?? "";
  const path = route.path.replace(/:(id|number)/, id === "own" ? own : encodeURIComponent(id));
  const token = callers[caller] ?? "";
  // A wait would only take its time.
  const url = server.url + path + query.replace(/wait=\d+[mh]/, "wait=1s");
  const response = await fetch(url, {
    method: route.method,
    redirect: "manual",
    headers: {
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      ...(key !== "" && { "idempotency-key": key }),
      "content-type": type,
      "sec-fetch-site": "same-origin",
    },
    ...(route.method !== "GET" && { body }),
  });
  await response.text();
  assert.ok(response.status < 500, `${route.operation}: ${response.status}`);
  assert.match(response.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
  assertNoDefect({ defects } as Stage);
}

const HANG_MS = 20_000;

/** All bytes at once, and then an end: whatever they are, the server answers and closes. */
async function checkBytes(input: string): Promise<void> {
  stage ??= start();
  const { server, callers, ids, defects } = await stage;
  const { hostname, port } = new URL(server.url);
  const bytes = input
    .replaceAll("TOKEN", callers[1] ?? "")
    .replaceAll("REQUEST", ids[0] ?? "")
    .replace(/wait=\d+[smh]/g, "wait=1s");
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let failed: Error | undefined;
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // A server that closes early may reset what is still on its way.
  socket.on("error", (error) => {
    failed = error;
  });
  const timer = setTimeout(() => socket.destroy(new Error("hangs")), HANG_MS);
  socket.end(Buffer.from(bytes, "latin1"));
  await once(socket, "close").catch(() => {});
  clearTimeout(timer);
  assert.notEqual(failed?.message, "hangs");
  const text = Buffer.concat(chunks).toString("latin1");
  for (const [, status = ""] of text.matchAll(/^HTTP\/1\.1 (\d+)/gm)) {
    assert.ok(Number(status) < 500, `answered ${status}`);
  }
  assertNoDefect({ defects } as Stage);
}

const headers = fc.oneof(
  fc.constantFrom(
    "Content-Length: 0",
    "Content-Length: 47",
    "Transfer-Encoding: chunked",
    "Expect: 100-continue",
    "Connection: close",
    "Upgrade: websocket",
    "Content-Type: application/json",
    "Host: a",
    "Authorization: Bearer TOKEN",
    "Idempotency-Key: one",
    "Cookie: __Host-countersign=x",
  ),
  fc
    .tuple(fc.constantFrom("X-A", "Host", "Accept", "Range", "TE"), fc.string())
    .map((all) => all.join(": ")),
);
const messages = fc
  .tuple(
    fc.constantFrom("GET", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "PUT", "get", "PRI"),
    fc.constantFrom(
      "/v1/requests",
      "/v1/requests/REQUEST",
      "/healthz",
      "*",
      "http://a/",
      "/%zz",
      "//",
    ),
    fc.constantFrom("HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "http/1.1", ""),
    fc.array(headers, { maxLength: 8 }),
    fc.oneof(fc.constant(""), fc.constant("2f\r\n"), jsonTexts, fc.constant("0\r\n\r\n")),
  )
  .map(([method, path, version, lines, body]) =>
    [`${method} ${path} ${version}`, ...lines, "", body].join("\r\n"),
  );

export const HTTP_TARGETS: readonly Target[] = [
  {
    name: "exchange",
    inputs: fc.oneof(exchanges, fc.constantFrom(...readCorpus("exchange"))),
    check: checkExchange,
    end,
  },
  {
    name: "bytes",
    inputs: inputsOf(
      "bytes",
      fc.array(messages, { minLength: 1, maxLength: 3 }).map((all) => all.join("")),
    ),
    check: checkBytes,
    end,
  },
];
