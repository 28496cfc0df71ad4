/**
 * Forms of one exchange that two readers could read differently, on a bare socket: what a proxy in
 * front of the server might take for the end of a message, its host or its credential.
 */

import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { setStage } from "./support/operation-calls.ts";
import { answerTo, connectRaw } from "./support/raw-connection.ts";
import { startTestProvider } from "./support/test-provider.ts";

const server = await startTestProvider({ after });
const stage = await setStage(server);

const HOST = "Host: localhost\r\n";
const AUTHORIZED = `${HOST}Authorization: Bearer ${stage.credential}\r\n`;
const BODY = '{"tool":"deploy","arguments":{},"timeout":"1h"}';
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const READ = `GET /v1/requests/${stage.requestId} HTTP/1.1\r\n${AUTHORIZED}\r\n`;
/** Returns 404 if the server parses it as a separate request. */
const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n`;

function submission(headers: string, version = "1.1"): string {
  const key = `Idempotency-Key: ${server.freshKey()}\r\n`;
  const type = "Content-Type: application/json\r\n";
  return `POST /v1/requests HTTP/${version}\r\n${AUTHORIZED}${type}${key}${headers}\r\n`;
}

const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const CHUNKED = "Transfer-Encoding: chunked\r\n";

const UNFRAMED: Readonly<Record<string, string>> = {
  "chunked, then a length": submission(`${CHUNKED}${LENGTH}`) + CHUNKS,
  "a length, then chunked": submission(`${LENGTH}${CHUNKED}`) + CHUNKS,
  "gzip before chunked": submission("Transfer-Encoding: gzip, chunked\r\n") + CHUNKS,
  "chunked twice": submission(`${CHUNKED}${CHUNKED}`) + CHUNKS,
  "identity after chunked": submission("Transfer-Encoding: chunked, identity\r\n") + CHUNKS,
  "chunked in HTTP/1.0": submission(CHUNKED, "1.0") + CHUNKS,
  "an unknown coding that contains chunked": submission("Transfer-Encoding: xchunked\r\n") + CHUNKS,
  "a coding after a vertical tab": submission("Transfer-Encoding: \x0bchunked\r\n") + CHUNKS,
  "a space before the colon": submission("Transfer-Encoding : chunked\r\n") + CHUNKS,
  "a coding on a folded line": submission("Transfer-Encoding:\r\n chunked\r\n") + CHUNKS,
  "a folded header": submission(`X-A: a\r\n b\r\n${LENGTH}`) + BODY,
  "lines that end with a bare line feed":
    submission(LENGTH).replaceAll("\r", "") + BODY + SMUGGLED.replaceAll("\r", ""),
  "one header that ends with a bare line feed": submission(`X-A: a\n${LENGTH}`) + BODY,
  "a bare carriage return": submission(`X-A: a\rContent-Length: 3\r\n${LENGTH}`) + BODY,
  "the same length twice": submission(LENGTH + LENGTH) + BODY,
  "a list of lengths": submission(`Content-Length: ${BODY.length}, ${BODY.length}\r\n`) + BODY,
  "a length with a sign": submission(`Content-Length: +${BODY.length}\r\n`) + BODY,
  "a negative length": submission("Content-Length: -1\r\n") + BODY,
  "a hexadecimal length": submission("Content-Length: 0x2f\r\n") + BODY,
  "a length beyond 64 bits": submission(`Content-Length: ${"9".repeat(30)}\r\n`) + BODY,
  "a chunk size beyond 64 bits": `${submission(CHUNKED)}1${"0".repeat(16)}2f\r\n${BODY}`,
  "a chunk size that ends with a line feed": submission(CHUNKED) + CHUNKS.replace("\r\n", "\n"),
  "a chunk extension that ends with a line feed":
    submission(CHUNKED) + CHUNKS.replace("\r\n", ";a=b\n"),
  "a chunk that is longer than its size": submission(CHUNKED) + CHUNKS.replace("}\r\n", "}xx"),
};

for (const [what, bytes] of Object.entries(UNFRAMED)) {
  test(`[ours.exchange.one-reading] ${what}: the server returns 400 and reads no further bytes`, async (t) => {
    const connection = await connectRaw(t, server.url);
    connection.send(Buffer.from(bytes + SMUGGLED, "latin1"));
    const refused = await connection.answer();
    assert.equal(refused.status, 400, refused.text);
    assert.equal(refused.json.error.code, "invalid_request");
    assert.equal(refused.headers.get("connection"), "close");
    // A connection that is reset says nothing more either.
    assert.equal(await connection.rest().catch(() => ""), "");
  });
}

for (const [name, first, second, status, code] of [
  ["Host", "localhost", "elsewhere.example", 400, "invalid_request"],
  ["Authorization", `Bearer ${stage.credential}`, "Bearer nothing", 401, "invalid_credential"],
  ["Idempotency-Key", "one", "another", 400, "invalid_request"],
  ["Content-Type", "application/json", "text/plain", 400, "invalid_request"],
  ["Content-Encoding", "identity", "gzip", 400, "invalid_request"],
] as const) {
  test(`[ours.exchange.one-reading] ${name} twice is a ${status}, in either order and any letters`, async (t) => {
    for (const values of [
      [first, second],
      [second, first],
      [first, first],
    ]) {
      const lines = submission(LENGTH)
        .trimEnd()
        .split("\r\n")
        .filter((line) => !line.startsWith(`${name}:`));
      lines.push(`${name}: ${values[0]}`, `${name.toUpperCase()}: ${values[1]}`);
      const refused = await answerTo(t, server.url, `${lines.join("\r\n")}\r\n\r\n${BODY}`);
      assertRefused(refused, status, code, code === "invalid_request" ? name : undefined);
    }
  });
}

test("[ours.exchange.one-reading] extensions of chunks and trailers change nothing of an exchange", async (t) => {
  const connection = await connectRaw(t, server.url);
  const trailers = `0\r\nAuthorization: Bearer nothing\r\nIdempotency-Key: other\r\n\r\n`;
  const chunks = CHUNKS.replace("\r\n", ";a=b\r\n").replace("0\r\n\r\n", trailers);
  connection.send(submission(CHUNKED) + chunks + READ);
  assert.equal((await connection.answer()).status, 201);
  assert.equal((await connection.answer()).status, 200);
});

test("[ours.exchange.one-reading] extensions and trailers of any size are not collected", async (t) => {
  const extended = CHUNKS.replace("\r\n", `;${"a".repeat(100_000)}\r\n`);
  const trailed = CHUNKS.replace("0\r\n", `0\r\n${"A: a\r\n".repeat(20_000)}`);
  for (const chunks of [extended, trailed]) {
    const connection = await connectRaw(t, server.url);
    connection.socket.on("error", () => {});
    connection.send(submission(CHUNKED) + chunks);
    assert.equal((await connection.answer()).status, 400);
  }
});

test("[ours.exchange.one-reading] an unexpected body is not parsed as a separate request", async (t) => {
  const length = `Content-Length: ${SMUGGLED.length}\r\n`;
  for (const [head, status] of [
    [`GET /healthz HTTP/1.1\r\n${HOST}${length}\r\n`, 200],
    [`POST /v1/requests HTTP/1.1\r\n${HOST}${length}\r\n`, 401],
    [`POST /nowhere HTTP/1.1\r\n${HOST}${length}\r\n`, 404],
    [`DELETE /v1/requests/${stage.instanceId} HTTP/1.1\r\n${AUTHORIZED}${length}\r\n`, 404],
  ] as const) {
    const connection = await connectRaw(t, server.url);
    connection.send(head + SMUGGLED + READ);
    assert.equal((await connection.answer()).status, status);
    assert.equal((await connection.answer()).status, 200, head);
  }
});

test("[ours.exchange.one-reading] behind a body that is too large nothing is read", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(submission("Content-Length: 99999999\r\n") + SMUGGLED);
  const refused = await connection.answer();
  assertRefused(refused, 400, "body_too_large", "body");
  assert.equal(await connection.rest().catch(() => ""), "");
});

test("[ours.exchange.one-reading] a compressed body is rejected and not decompressed", async (t) => {
  for (const coding of ["gzip", "deflate", "br", "zstd", "x-gzip", "identity, gzip", ""]) {
    const bytes = submission(`Content-Encoding: ${coding}\r\n${LENGTH}`) + BODY;
    const refused = await answerTo(t, server.url, bytes);
    assertRefused(refused, 400, "invalid_request", "Content-Encoding");
  }
});

test("[ours.exchange.one-reading] a foreign host in a request line or header does not appear in the answer", async (t) => {
  const evil = "elsewhere.example";
  const lines = [
    `X-Forwarded-Host: ${evil}`,
    `Forwarded: host=${evil}`,
    "X-Original-URL: /metrics",
  ];
  const forwarded = `${lines.join("\r\n")}\r\n`;
  for (const target of [`http://${evil}/sign-in`, "/sign-in", "/review/v1/session/ways"]) {
    const bytes = `GET ${target} HTTP/1.1\r\nHost: ${evil}\r\n${forwarded}\r\n`;
    const { status, text, headers } = await answerText(t, bytes);
    assert.equal(status, 200, text);
    assert.doesNotMatch(text + JSON.stringify([...headers]), /elsewhere/);
    assert.doesNotMatch(text, /countersign_/);
  }
});

async function answerText(t: TestContext, bytes: string) {
  const connection = await connectRaw(t, server.url);
  connection.send(bytes.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
  const { status, headers } = await connection.head();
  return { status, headers, text: await connection.rest() };
}

test("[ours.exchange.one-reading] another method is not to be named in a header, and none is echoed", async (t) => {
  const override = "X-HTTP-Method-Override: DELETE\r\nX-Method-Override: DELETE\r\n";
  const path = `/v1/requests/${stage.requestId}`;
  for (const method of ["POST", "TRACE", "OPTIONS"]) {
    const bytes = `${method} ${path} HTTP/1.1\r\n${AUTHORIZED}${override}Content-Length: 0\r\n\r\n`;
    const refused = await answerTo(t, server.url, bytes);
    assertRefused(refused, 405, "method_not_allowed");
  }
  assert.equal((await server.read(stage.credential, stage.requestId)).status, "pending");
});

test("[ours.exchange.one-reading] no spelling of a path reaches a file outside the served folders", async (t) => {
  const { token } = await server.instance();
  for (const path of [
    "/assets/..%2f..%2fpackage.json",
    "/assets/../../package.json",
    "/assets/%2e%2e/index.html",
    "/assets/..%5c..%5cindex.html",
    "/assets/....//index.html",
    "/assets/%00",
    "/assets/",
    "/assets/__proto__",
    "/assets/constructor",
    "/assets/.hidden",
    "/assets/toString",
    "//assets/x",
    "/assets//etc/passwd",
    "/assets/%c0%ae%c0%ae/x",
    "/sw.js/../secret.key",
    "/secret.key",
    "/countersign.db",
    "/.env",
    "/package.json",
    "/assets/.",
    "/assets/..",
    `/v1/requests/${stage.requestId};x`,
    `/v1//requests/${stage.requestId}`,
    `/V1/requests/${stage.requestId}`,
    `/v1/requests/${stage.requestId}/`,
    `/v1/requests/./x`,
  ]) {
    const bytes = `GET ${path} HTTP/1.1\r\n${HOST}Authorization: Bearer ${token}\r\n\r\n`;
    assertRefused(await answerTo(t, server.url, bytes), 404, "not_found");
  }
});
