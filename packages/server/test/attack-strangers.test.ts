/**
 * Credentials in the wrong place, bodies made to break what reads them, and clients that are slow
 * on purpose.
 */

import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { crc32 } from "node:zlib";
import { createHttpServer } from "../src/http/create-http-server.ts";
import { Report } from "../src/index.ts";
import { SignInLimits } from "../src/review/access/sign-in-limits.ts";
import { assertRefused } from "./support/envelope.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { setStage } from "./support/operation-calls.ts";
import { asPage, callAs, newPerson } from "./support/people.ts";
import { answerTo, connectRaw } from "./support/raw-connection.ts";
import { type Route, routesOf } from "./support/routes.ts";
import { ScimClient } from "./support/scim.ts";
import { startTestProvider } from "./support/test-provider.ts";

const bugs: string[] = [];
const server = await startTestProvider(
  { after },
  {
    report: new Report("error", { write: (line: string) => bugs.push(line) }),
    settings: {
      reviewer_rate: "0",
      unauthenticated_rate: "0",
      instance_rate: "0",
      provisioner_rate: "0",
      account_submission_rate: "0",
      authzen: "true",
    },
  },
);
const stage = await setStage(server);
const person = await newPerson(server, { login: "ana", role: "admin" });
const operator = await server.token({ kind: "reviewer", name: "op", role: "operator" });
const scim = await ScimClient.create(server);
const routes = await routesOf(server);

/** Begun before all tests, whose time is then not waited for twice. */
const slow = await Promise.all(
  Array.from({ length: 20 }, async () => {
    const connection = await connectRaw({ after }, server.url);
    connection.socket.on("error", () => {});
    connection.send("GET /healthz HTTP/1.1\r\nHost: a\r\nX-");
    return connection;
  }),
);
/** Less than the server waits: what is written to a connection that it has closed is an error. */
const DRIPPING_MS = 7_000;
const startedAt = performance.now();
const drip = setInterval(() => {
  if (performance.now() - startedAt > DRIPPING_MS) clearInterval(drip);
  else for (const { socket } of slow) socket.write("a");
}, 500);
after(() => clearInterval(drip));

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The same secret under another prefix, with the checksum that belongs to it. */
function reprefixed(token: string, prefix: string): string {
  const body = prefix + token.slice(token.lastIndexOf("_") + 1, -6);
  let rest = crc32(body);
  let digits = "";
  for (let i = 0; i < 6; i++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return body + digits;
}

test("[ours.auth.matrix] a credential with the prefix of another kind is rejected, even with a valid checksum", async () => {
  for (const token of [stage.credential, stage.provisioner, operator]) {
    const own = token.slice(0, token.lastIndexOf("_") + 1);
    assert.equal(reprefixed(token, own), token);
    for (const prefix of ["cs_inst_", "cs_prov_", "cs_rev_"].filter((other) => other !== own)) {
      for (const path of [`/v1/requests/${stage.requestId}`, "/review/v1/requests"]) {
        const answer = await server.call("GET", path, { token: reprefixed(token, prefix) });
        assertRefused(answer, 401, "invalid_credential");
      }
    }
  }
});

test("[ours.auth.matrix] a credential is accepted only as a bearer token, not in a cookie, query, body or other scheme", async () => {
  const path = `/v1/requests/${stage.requestId}`;
  const basic = Buffer.from(`x:${stage.credential}`).toString("base64");
  for (const headers of [
    { authorization: `Bearer ${person.cookie}` },
    { authorization: `Basic ${basic}` },
    { authorization: stage.credential },
    { authorization: `Bearer ${stage.credential}, Bearer ${operator}` },
    { authorization: `Bearer ${stage.credential.toLowerCase()}` },
    { authorization: `Bearer ${stage.credential}\u00a0` },
    { cookie: `authorization=Bearer ${stage.credential}` },
    { cookie: `__Host-countersign=${stage.credential}` },
    { "x-api-key": stage.credential, "proxy-authorization": `Bearer ${stage.credential}` },
  ] as Record<string, string>[]) {
    const answer = await server.call("GET", path, { headers });
    assertRefused(answer, 401, "invalid_credential");
  }
  const query = `?access_token=${stage.credential}&token=${stage.credential}`;
  assertRefused(await server.call("GET", path + query), 401, "invalid_credential");
  // A token is not a session either: it does not sign in, and session endpoints refuse it.
  const asSession = await callAs(server, { cookie: operator }, "GET", "/session");
  assertRefused(asSession, 401, "invalid_credential");
  const asLink = await callAs(server, undefined, "POST", "/invitation", {
    body: { token: operator },
  });
  assertRefused(asLink, 404, "not_found");
});

test("[ours.auth.stored-hashed] the server looks up a token by its digest, so the duration reveals nothing about it", async () => {
  const { store } = server.provider.context;
  const seen: unknown[][] = [];
  const watched = { ...store, all: store.all.bind(store), get: store.get.bind(store) };
  const { authenticateCaller } = await import("../src/operations/access/authenticateCaller.ts");
  watched.get = (sql: string, values?: readonly unknown[]) => {
    seen.push([...(values ?? [])]);
    return store.get(sql, values as never);
  };
  const context = { ...server.provider.context, store: watched } as never;
  const caller = await authenticateCaller(context, `Bearer ${stage.credential}`);
  assert.equal(caller.kind, "instance");
  assert.doesNotMatch(JSON.stringify(seen), new RegExp(stage.credential.slice(8, 20)));
});

/** Bodies of every shape that a reader of JSON may stumble over. */
const BODIES: readonly string[] = [
  "null",
  "[]",
  '""',
  "0",
  "true",
  "{}",
  "[[]]",
  '{"":{}}',
  '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}',
  '{"__proto__":null,"toString":1,"valueOf":1,"hasOwnProperty":1,"then":{"then":1}}',
  '{"name":{"__proto__":[]},"role":["admin"],"groups":{"length":1e9},"scopes":"read"}',
  '{"token":["a"],"login":{"toString":"x"},"password":[1],"answer":{"__proto__":{"id":1}}}',
  '{"source":{"$ne":1},"expected_number":1e308,"number":-0.0,"project_id":{"$gt":""}}',
  '{"verdict":"__proto__","arguments_sha256":"constructor","validity":"1e9h","note":"\\u0000"}',
  '{"scope":"constructor","instance_id":"../../x","kind":"__proto__","url":"file:///etc/passwd"}',
  '{"tool":"x","arguments":{"__proto__":{"a":1}},"timeout":"1h","context":{"constructor":1}}',
  '{"endpoint":"https://[::1]/","keys":{"__proto__":1},"name":"\\ud83d\\ude00","format":"__proto__"}',
  `{"a":${"[".repeat(90)}${"]".repeat(90)}}`,
  `{${Array.from({ length: 3_000 }, (_, at) => `"${at * 4_294_967}":0`).join(",")}}`,
  `{"name":"${"a".repeat(50_000)}!","source":"${"[".repeat(5_000)}"}`,
  '{"source":"a: &a [*a]\\nb: !!js/function x\\nrules: {<<: *a}"}',
];

test("[ours.exchange.no-leaks] no body causes a 5xx or changes an object prototype", async () => {
  // Unsupported parts of SCIM answer 501 to every body.
  const taking = routes.filter(
    ({ method, operation }) =>
      ["POST", "PATCH", "PUT"].includes(method) && operation !== "rejectScimMethod",
  );
  assert.ok(taking.length > 40, String(taking.length));
  for (const route of taking) {
    // Operations for people only refuse a token before they read the body.
    const { text: refusal } = await sendBody(route, "{}", false);
    const isPerson = /wrong_credential_kind|cross_origin/.test(refusal);
    for (const body of BODIES) {
      const { status, text } = await sendBody(route, body, isPerson);
      assert.ok(status < 500, `${route.operation} with ${body.slice(0, 80)}: ${status} ${text}`);
    }
  }
  assert.equal(({} as { isAdmin?: boolean }).isAdmin, undefined);
  assert.deepEqual(Object.keys(Object.prototype), []);
  assert.deepEqual(bugs, []);
});

function sendBody({ method, path, operation }: Route, body: string, isPerson: boolean) {
  const target = path.replace(/:(id|number)/, stage.requestId);
  const key = server.freshKey();
  if (path.startsWith("/v1/")) {
    const token = operation.endsWith("Instance") ? stage.provisioner : stage.credential;
    return server.call(method, target, { key, token, body });
  }
  if (path.startsWith("/access/")) {
    return server.call(method, target, { key, token: stage.credential, body });
  }
  if (path.startsWith("/scim/")) return server.call(method, target, { token: scim.token, body });
  if (!isPerson) return server.call(method, target, { key, token: operator, body });
  return server.call(method, target, { key, headers: asPage(person), body });
}

test("[ours.sign-in.cross-origin] a form of another site gets 403 cross_origin with any content type", async () => {
  const body = '{"scope":"project","note":"x"}';
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    for (const site of ["cross-site", "same-site", "none"]) {
      const headers = { ...asPage(person), "sec-fetch-site": site, "content-type": type };
      const answer = await server.call("POST", "/review/v1/freezes", { headers, body });
      assertRefused(answer, 403, "cross_origin");
    }
  }
  const own = { ...asPage(person), "content-type": "text/plain" };
  const answer = await server.call("POST", "/review/v1/freezes", { headers: own, body });
  assertRefused(answer, 400, "invalid_request", "Content-Type");
});

test("[ours.sign-in.rate] too many sign-in attempts from one address do not block another address", () => {
  const clock = new ManualClock();
  const limits = new SignInLimits(clock);
  const spray = (address: string) => {
    for (let at = 0; at < 100; at++) limits.chargeAttempt(`login${at}`, address);
  };
  assert.throws(() => spray("192.0.2.1"), { code: "rate_limited" });
  assert.throws(() => limits.chargeAttempt("another", "192.0.2.1"), { code: "rate_limited" });
  limits.chargeAttempt("another", "192.0.2.2");
});

test("[ours.exchange.slow] slow headers hold their connection for a bounded time and do not delay other clients", async () => {
  await server.read(stage.credential, stage.requestId);
  for (const connection of slow) {
    const refused = await connection.answer();
    // The client may retry, because the server may have been the slow side.
    assertRefused(refused, 503, "unavailable");
    assert.match(refused.json.error.message, /too long/);
  }
});

test("[ours.exchange.slow] a message, and silence, may last as long as the limits say", () => {
  const { settings } = server.provider.context;
  const report = new Report("silent", { write: () => {} });
  const http = createHttpServer(settings, report).server;
  assert.deepEqual(
    [http.headersTimeout, http.requestTimeout, http.timeout, http.maxConnections],
    [10_000, 30_000, 60_000, 20_000],
  );
});

test("[ours.auth.matrix] a stranger cannot ask for a session of their choice", async (t) => {
  const chosen = "A".repeat(43);
  const answer = await asAnonymous(t, `Cookie: __Host-countersign=${chosen}\r\n`);
  assertRefused(answer, 401, "invalid_credential");
  assert.deepEqual(answer.headers.getSetCookie(), []);
});

function asAnonymous(t: TestContext, headers: string) {
  const bytes = `GET /review/v1/session?session=x HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
  return answerTo(t, server.url, bytes);
}
