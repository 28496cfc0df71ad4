import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import type { ErrorResponse, ProblemCode } from "@countersign/protocol";
import { Report } from "../src/index.ts";
import { assertRefused, UUID } from "./support/envelope.ts";
import { setStage } from "./support/operation-calls.ts";
import { answerTo, connectRaw } from "./support/raw-connection.ts";
import { type Answer, SUBMISSION, startTestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

/** The log of the server. It must not report the input of a stranger as a server defect. */
const log: string[] = [];

const server = await startTestProvider(
  { after },
  {
    report: new Report("debug", { write: (line: string) => log.push(line) }),
    settings: { body_bytes_max: "10000" },
  },
);
const stage = await setStage(server);

const HOST = "Host: localhost\r\n";
const AUTHORIZED = `${HOST}Authorization: Bearer ${stage.credential}\r\n`;
const SUBMIT = `POST /v1/requests HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\n`;
const READ = `GET /v1/requests/${stage.requestId} HTTP/1.1\r\n${AUTHORIZED}\r\n`;

const BODY = JSON.stringify(SUBMISSION);

function answer(t: TestContext, bytes: string | Uint8Array): Promise<Answer<ErrorResponse>> {
  return answerTo(t, server.url, bytes);
}

/** A submission with a key of its own, as far as the blank line after its headers. */
function submission(...headers: readonly string[]): string {
  const lines = [`Idempotency-Key: ${server.freshKey()}`, ...headers];
  return `${SUBMIT}${lines.join("\r\n")}\r\n\r\n`;
}

const NO_HTTP: Readonly<Record<string, string>> = {
  "text that is not HTTP": "who is there?\r\n\r\n",
  "a TLS greeting": "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
  "a request line with a space in its path": `GET /health z HTTP/1.1\r\n${HOST}\r\n`,
  "the greeting of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "an unknown version": `GET /healthz HTTP/3.7\r\n${HOST}\r\n`,
  "an unknown method": `BREW /healthz HTTP/1.1\r\n${HOST}\r\n`,
  "a header without a colon": `GET /healthz HTTP/1.1\r\n${HOST}Nonsense\r\n\r\n`,
  "a NUL in a header": `GET /healthz HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`,
  "two lengths": `${SUBMIT}Content-Length: 3\r\nContent-Length: 4\r\n\r\n{}  `,
  "a length that is not a number": `${SUBMIT}Content-Length: many\r\n\r\n{}`,
  "a length beside chunks": `${SUBMIT}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n`,
  "an unknown transfer encoding": `${SUBMIT}Transfer-Encoding: gzip\r\n\r\nabc`,
  "a chunk without a size": `${SUBMIT}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
};

for (const [what, bytes] of Object.entries(NO_HTTP)) {
  test(`[ours.exchange.request-id.everywhere] ${what} returns 400 in the envelope`, async (t) => {
    const refused = await answer(t, bytes);
    assertRefused(refused, 400, "invalid_request");
    assert.equal(refused.headers.get("connection"), "close");
  });
}

for (const [what, bytes] of Object.entries({
  header: `GET /healthz HTTP/1.1\r\n${HOST}X: ${"x".repeat(20_000)}\r\n\r\n`,
  path: `GET /${"x".repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`,
  number: `GET /healthz HTTP/1.1\r\n${HOST}${"X: x\r\n".repeat(4_000)}\r\n`,
})) {
  test(`[ours.exchange.request-id.everywhere] headers above the limit of their ${what} return 400 in the envelope`, async (t) => {
    assertRefused(await answer(t, bytes), 400, "invalid_request", "headers");
  });
}

test("[ours.exchange.request-id.everywhere] HTTP/1.1 without a Host returns 400 in the envelope, on every path", async (t) => {
  for (const path of ["/healthz", "/v1/instances", "/nowhere", "/v1/requests/%zz"]) {
    const refused = await answer(t, `GET ${path} HTTP/1.1\r\n\r\n`);
    if (path.includes("%")) assertRefused(refused, 404, "not_found");
    else assertRefused(refused, 400, "invalid_request", "Host");
  }
});

test("[ours.exchange.request-id.everywhere] HTTP/1.0 needs no Host and is answered", async (t) => {
  const { status, headers } = await answer(t, "GET /healthz HTTP/1.0\r\n\r\n");
  assert.equal(status, 200);
  assert.match(headers.get("x-request-id") ?? "", UUID);
});

test("[ours.exchange.request-id.everywhere] an expectation that cannot be met returns 400 in the envelope", async (t) => {
  const refused = await answer(t, submission("Expect: tea", "Content-Length: 0"));
  assertRefused(refused, 400, "invalid_request", "Expect");
});

test("[ours.exchange.request-id.everywhere] a client that expects 100-continue gets 100", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(submission("Expect: 100-continue", `Content-Length: ${BODY.length}`));
  assert.equal((await connection.head()).status, 100);
  connection.send(BODY);
  const { status, headers } = await connection.answer();
  assert.equal(status, 201);
  assert.match(headers.get("x-request-id") ?? "", UUID);
});

test("[ours.exchange.request-id.everywhere] CONNECT returns 405 in the envelope, and the connection is closed", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(`CONNECT example.com:443 HTTP/1.1\r\n${HOST}\r\n`);
  const refused = await connection.answer();
  assertRefused(refused, 405, "method_not_allowed");
  assert.match(refused.headers.get("allow") ?? "", /GET/);
  await assertClosed(connection);
});

test("[ours.exchange.request-id.everywhere] the connection is closed after input that is not HTTP", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send("who is there?\r\n\r\n");
  assertRefused(await connection.answer(), 400, "invalid_request");
  await assertClosed(connection);
});

/** Closed and not only ended: a client that keeps its side open holds nothing of ours. */
async function assertClosed(connection: Awaited<ReturnType<typeof connectRaw>>): Promise<void> {
  assert.equal(await connection.rest(), "");
  const refused = new Promise((resolve) => connection.socket.once("error", resolve));
  await until(() => {
    if (!connection.socket.destroyed) connection.send("still there?");
    return connection.socket.destroyed;
  }, "the server has closed the connection");
  assert.match(String(await refused), /ECONNRESET|EPIPE/);
}

test("[ours.exchange.request-id.everywhere] an Upgrade header is ignored, and the request is answered", async (t) => {
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  const path = `/v1/requests/${stage.requestId}`;
  const outsider = await answer(t, `GET ${path} HTTP/1.1\r\n${HOST}${upgrade}\r\n`);
  assertRefused(outsider, 401, "invalid_credential");
  const { status, headers } = await answer(
    t,
    `GET ${path} HTTP/1.1\r\n${AUTHORIZED}${upgrade}\r\n`,
  );
  assert.equal(status, 200);
  assert.match(headers.get("x-request-id") ?? "", UUID);
});

test("[ours.exchange.request-id.everywhere] a request that arrives byte by byte is answered like any other", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.socket.setNoDelay(true);
  const bytes = submission(`Content-Length: ${BODY.length}`) + BODY;
  for (const byte of bytes) {
    await new Promise((resolve) => connection.socket.write(byte, resolve));
  }
  const { status, headers } = await connection.answer();
  assert.equal(status, 201);
  assert.match(headers.get("x-request-id") ?? "", UUID);
});

test("[ours.exchange.request-id.everywhere] a body that ends before its length returns 400 in the envelope", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(`${submission("Content-Length: 1000")}${BODY}`);
  connection.socket.end();
  assertRefused(await connection.answer(), 400, "invalid_request");
});

test("[ours.exchange.request-id.everywhere] a client that disconnects in the middle of a body does not affect the next request", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(submission("Expect: 100-continue", "Content-Length: 1000"));
  await connection.head();
  connection.send(BODY);
  connection.socket.resetAndDestroy();
  assert.equal((await answer(t, READ)).status, 200);
});

for (const [how, headers, body] of [
  ["announced", ["Content-Length: 10001"], ""],
  ["announced and sent", ["Content-Length: 10001"], "x".repeat(10_001)],
  ["chunked", ["Transfer-Encoding: chunked"], `2711\r\n${"x".repeat(10_001)}\r\n0\r\n\r\n`],
  ["chunked without end", ["Transfer-Encoding: chunked"], `ffff\r\n${"x".repeat(10_001)}`],
] as const) {
  test(`[ours.exchange.request-id.everywhere] an oversized body, ${how}, returns 400 in the envelope`, async (t) => {
    const refused = await answer(t, submission(...headers) + body);
    assertRefused(refused, 400, "body_too_large", "body");
  });
}

test("[ours.exchange.request-id.everywhere] malformed JSON returns 400 in the envelope", async (t) => {
  const refused = await answer(t, `${submission("Content-Length: 1")}{`);
  assertRefused(refused, 400, "invalid_json", "body");
});

test("[ours.exchange.request-id.everywhere] text after the body is a request of its own, and a 400", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(`${submission(`Content-Length: ${BODY.length}`)}${BODY}`);
  const first = await connection.answer();
  assert.equal(first.status, 201);
  connection.send("and another thing\r\n\r\n");
  const second = await connection.answer();
  assertRefused(second, 400, "invalid_request");
  assert.notEqual(second.headers.get("x-request-id"), first.headers.get("x-request-id"));
  assert.equal(await connection.rest(), "");
});

test("[exchange.request-id] the exchanges of one connection, sent at once, have an id each", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(READ.repeat(5));
  const ids = new Set<string>();
  for (let i = 0; i < 5; i++) {
    const { status, headers } = await connection.answer();
    assert.equal(status, 200);
    ids.add(headers.get("x-request-id") ?? "");
  }
  assert.equal(ids.size, 5);
});

const UNROUTED: readonly (readonly [string, number, ProblemCode])[] = [
  ["OPTIONS *", 404, "not_found"],
  ["OPTIONS /v1/requests", 405, "method_not_allowed"],
  ["TRACE /v1/instances", 405, "method_not_allowed"],
  ["PROPFIND /healthz", 405, "method_not_allowed"],
  ["QUERY /v1/requests", 405, "method_not_allowed"],
  ["QUERY /nowhere", 404, "not_found"],
  ["GET //v1//requests", 404, "not_found"],
  ["GET /v1/requests/../../etc/passwd", 404, "not_found"],
  ["GET /:id(", 404, "not_found"],
  ["GET /*", 404, "not_found"],
  ["GET /v1/requests/%zz", 404, "not_found"],
  ["GET /v1/requests/%ff", 404, "not_found"],
  ["GET /%00", 404, "not_found"],
];

for (const [line, status, code] of UNROUTED) {
  test(`[ours.exchange.request-id.everywhere] ${line} is a ${status} in the envelope`, async (t) => {
    const refused = await answer(t, `${line} HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\n{}`);
    assertRefused(refused, status, code);
  });
}

test("[ours.exchange.request-id.everywhere] an unknown path or method returns 404 or 405 whatever its body is", async (t) => {
  const bodies = [
    "Content-Type: nonsense\r\nContent-Length: 1\r\n\r\nx",
    "Content-Length: 99999\r\n\r\n",
  ];
  for (const body of bodies) {
    assertRefused(await answer(t, `POST /nowhere HTTP/1.1\r\n${HOST}${body}`), 404, "not_found");
    const wrong = await answer(t, `PUT /v1/requests HTTP/1.1\r\n${HOST}${body}`);
    assertRefused(wrong, 405, "method_not_allowed");
  }
});

test("[ours.exchange.request-id.everywhere] HEAD has no body but its id", async (t) => {
  for (const [path, status] of [
    ["/healthz", 405],
    ["/nowhere", 404],
  ] as const) {
    const connection = await connectRaw(t, server.url);
    connection.send(`HEAD ${path} HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`);
    const head = await connection.head();
    assert.equal(head.status, status);
    assert.match(head.headers.get("x-request-id") ?? "", UUID);
    assert.equal(await connection.rest(), "");
  }
});

test("[ours.exchange.request-id.everywhere] after all this the server serves, and has found no defect in itself", async (t) => {
  assert.equal((await answer(t, READ)).status, 200);
  assert.deepEqual(
    log.filter((line) => /bug\.found|dependency\.failed/.test(line)),
    [],
  );
});
