/**
 * Browsers and caches handle answers only as the server declares. Hostile text in every field that
 * stores text comes back as data, in answers that are data.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Report } from "../src/index.ts";
import { callAs, newPerson } from "./support/people.ts";
import { connectRaw } from "./support/raw-connection.ts";
import { type Route, routesOf } from "./support/routes.ts";
import { startTestProvider } from "./support/test-provider.ts";

const log: string[] = [];
const server = await startTestProvider(
  { after },
  {
    report: new Report("debug", { write: (line: string) => log.push(line) }),
    settings: { reviewer_rate: "0", unauthenticated_rate: "0", authzen: "true" },
  },
);
const person = await newPerson(server, { login: "ana", role: "admin" });
const operator = await server.token({ kind: "reviewer", name: "op", role: "operator" });
const routes = await routesOf(server);

const PATHS_OF_NOTHING = ["/nowhere", "/v1", "/review/v1/nowhere", "/%zz", "/assets/none.js"];

async function answers({ method, path }: Route): Promise<readonly Response[]> {
  const url = server.url + path.replace(/:(id|number)/, "019cebab-898c-7217-800b-f38c40604079");
  const send = async (headers: Record<string, string>): Promise<Response> => {
    const response = await fetch(url, { method, headers, redirect: "manual" });
    await response.body?.cancel();
    return response;
  };
  return [
    await send({}),
    await send({ authorization: `Bearer ${operator}` }),
    await send({ "sec-fetch-site": "same-origin", cookie: `__Host-countersign=${person.cookie}` }),
  ];
}

test("[ours.exchange.answer-headers] every response declares its type, forbids framing, and is cached only if it is public", async () => {
  // Signing out would end the session that the other calls use.
  const reading = routes.filter(
    ({ operation }) => !["signOut", "endSession", "followEvents"].includes(operation),
  );
  const nothing = PATHS_OF_NOTHING.map((path) => ({ method: "GET", path, operation: "" }));
  const statuses = new Set<number>();
  for (const route of [...reading, ...nothing]) {
    for (const { status, headers } of await answers(route)) {
      statuses.add(status);
      const what = `${route.method} ${route.path}: ${status}`;
      assert.equal(headers.get("x-content-type-options"), "nosniff", what);
      assert.match(headers.get("content-security-policy") ?? "", /^default-src 'none'/, what);
      assert.match(headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/, what);
      assert.doesNotMatch(headers.get("content-security-policy") ?? "", /unsafe|\*|http:/, what);
      assert.equal(headers.get("access-control-allow-origin"), null, what);
      assert.equal(headers.get("service-worker-allowed"), null, what);
      const isPage =
        route.path.startsWith("/assets/") || !/^\/(v1|review|scim|access)\//.test(route.path);
      const isData = headers.get("content-type") === "application/json" || !isPage;
      assert.equal(headers.get("cache-control"), isData ? "no-store" : cacheOf(route), what);
      if (!isPage) assert.doesNotMatch(headers.get("content-type") ?? "", /html|javascript/, what);
    }
  }
  for (const status of [200, 401, 404]) assert.ok(statuses.has(status), String(status));
});

/** Pages and their files hold nothing of anybody; those of probes are not kept either. */
function cacheOf({ path, operation }: Route): string {
  if (path.startsWith("/assets/")) return "public, max-age=31536000, immutable";
  return ["metrics", "openapi"].includes(operation) ? "no-store" : "no-cache";
}

test("[ours.exchange.answer-headers] answers of the HTTP parser to malformed requests have these headers too", async (t) => {
  for (const bytes of ["nonsense\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n"]) {
    const connection = await connectRaw(t, server.url);
    connection.send(bytes);
    const { headers } = await connection.answer();
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("cache-control"), "no-store");
  }
});

test("[ours.sign-in.cookie] the session cookie is a Secure and HttpOnly __Host- cookie, and sign-out deletes it", async () => {
  const path = "/session";
  const answer = await callAs(server, person, "DELETE", path);
  const cookies = answer.headers.getSetCookie();
  assert.equal(cookies.length, 1);
  assert.match(cookies[0] ?? "", /^__Host-countersign=; /);
  for (const attribute of ["Path=/", "Secure", "HttpOnly", "SameSite=Lax", "Max-Age=0"]) {
    assert.ok(cookies[0]?.split("; ").includes(attribute), attribute);
  }
  assert.doesNotMatch(cookies[0] ?? "", /domain/i);
});

const HOSTILE = [
  '<script>alert(1)</script><img src=x onerror="alert(1)">',
  "javascript:alert(1)//'\"`--></style></title>",
  "{{constructor.constructor('alert(1)')()}}#{7*7}<%= 7*7 %>",
  'line\nnext\r\n\u2028\u2029{"level":"error","msg":"forged"}',
  "\u202e\u200b\u0000\ufeffend\x1b[31mred\x1b]0;title\x07",
  '=HYPERLINK("http://evil.example")',
];

test("[ours.exchange.no-leaks] the API returns hostile text in every field exactly, as JSON, and no page contains it", async () => {
  const { token } = await server.instance();
  const admin = await newPerson(server, { login: "bo", role: "admin" });
  const pagesBefore = await pageTexts();
  for (const text of HOSTILE) {
    const fields = {
      tool: text,
      arguments: { [text]: text },
      agent_reasoning: text,
      context: { [text]: [text] },
    };
    const { id } = await server.submit(token, fields);
    const decided = await server.decide(operator, id, "deny", { note: text });
    assert.equal(decided.status, 200, decided.text);
    const read = await server.read(token, id);
    assert.deepEqual(
      [read.tool, read.arguments, read.agent_reasoning, read.context, read.decision?.note],
      [text, { [text]: text }, text, { [text]: [text] }, text],
    );
    for (const path of [`/requests/${id}`, "/history", "/audit", "/requests?status=denied"]) {
      const { headers, status } = await callAs(server, admin, "GET", path);
      if (status !== 200) continue;
      assert.equal(headers.get("content-type"), "application/json");
      assert.equal(headers.get("x-content-type-options"), "nosniff");
    }
    const named = { name: text, role: "viewer" };
    for (const path of ["/tokens", "/invitations", "/channels"]) {
      const { headers } = await callAs(server, admin, "POST", path, { body: named });
      assert.equal(headers.get("content-type"), "application/json", path);
    }
  }
  assert.deepEqual(await pageTexts(), pagesBefore);
});

/** The pages: the same for every user, independent of stored data. */
async function pageTexts(): Promise<string[]> {
  const paths = [
    "/inbox",
    "/history",
    "/settings",
    "/sign-in",
    "/invitation",
    "/audit/%3Cscript%3E",
  ];
  return Promise.all(
    paths.map(async (path) => {
      const response = await fetch(server.url + path);
      assert.match(response.headers.get("content-type") ?? "", /^text\/html; charset=utf-8$/);
      return response.text();
    }),
  );
}

test("[ours.operations.logs] input of a client adds no line and no field to the log", async (t) => {
  log.length = 0;
  const forged = '"},"level":"error","forged":true,"x":{"';
  const connection = await connectRaw(t, server.url);
  const agent = `${forged}\\n\\u000a`;
  for (const path of ["/nowhere%0d%0aforged", `/v1/requests/${encodeURIComponent(forged)}`]) {
    connection.send(
      `GET ${path}?q=${encodeURIComponent(`\n${forged}`)} HTTP/1.1\r\nHost: ${forged}\r\n` +
        `User-Agent: ${agent}\r\nX-Request-ID: ${forged}\r\nReferer: ${forged}\r\n\r\n`,
    );
    await connection.answer();
  }
  for (const login of [`ana\n${forged}`, forged]) {
    await callAs(server, undefined, "POST", "/session", { body: { login, password: forged } });
  }
  const lines = log
    .join("")
    .split("\n")
    .filter((line) => line !== "");
  assert.ok(lines.length >= 4, String(lines.length));
  for (const line of lines) {
    assert.doesNotMatch(line, /forged/);
    assert.equal(typeof JSON.parse(line), "object");
  }
});
