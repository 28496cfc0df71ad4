/**
 * Answers on connections that carry a fault behind a message, or that the client half-closes.
 */

import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { connectRaw, type RawConnection } from "./support/raw-connection.ts";
import { cancel, startScene } from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const scene = await startScene({ after });
const { server, instance } = scene;
const { wake } = server.provider.context;

const AUTHORIZED = `Host: localhost\r\nAuthorization: Bearer ${instance.token}\r\n`;
const BODY = JSON.stringify(SUBMISSION);

function submission(length = BODY.length): string {
  return (
    `POST /v1/requests HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\n` +
    `Idempotency-Key: ${server.freshKey()}\r\nContent-Length: ${length}\r\n\r\n`
  );
}

/** Sends a poll and comes back when the server holds it. */
async function holdRaw(t: TestContext, id: string): Promise<RawConnection> {
  const connection = await connectRaw(t, server.url);
  const held = wake.waiting + 1;
  connection.send(`GET /v1/requests/${id}?wait=30s HTTP/1.1\r\n${AUTHORIZED}\r\n`);
  await until(() => wake.waiting === held, "the poll is held");
  return connection;
}

test("[exchange.answer-per-message] bytes behind a submission do not replace its answer", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(`${submission()}${BODY}xx\r\n\r\n`);
  assert.equal((await connection.answer()).status, 201);
  assert.equal(await connection.rest(), "");
});

test("[exchange.answer-per-message] bytes behind a long poll do not replace its answer", async (t) => {
  const { id } = await server.submit(instance.token);
  const connection = await holdRaw(t, id);
  connection.send("this is not HTTP\r\n\r\n");
  connection.send("nor is this\r\n\r\n");
  assert.equal((await cancel(server, instance.token, id)).status, 200);
  const answer = await connection.answer();
  assert.equal(answer.status, 200, answer.text);
  assert.equal((answer.json as unknown as { status: string }).status, "cancelled");
  assert.equal(await connection.rest(), "");
});

test("[exchange.answer-per-message] a client that half-closes after a submission gets its answer", async (t) => {
  const connection = await connectRaw(t, server.url);
  connection.send(submission() + BODY);
  connection.socket.end();
  assert.equal((await connection.answer()).status, 201);
  assert.equal(await connection.rest(), "");
});

test("[exchange.answer-per-message] [ours.poll.gone-client] a client that half-closes gets the current state from its long poll", async (t) => {
  const { id } = await server.submit(instance.token);
  const connection = await holdRaw(t, id);
  connection.socket.end();
  const answer = await connection.answer();
  assert.equal(answer.status, 200, answer.text);
  assert.equal((answer.json as unknown as { status: string }).status, "pending");
  assert.equal(await connection.rest(), "");
  assert.equal(wake.waiting, 0);
});

for (const header of ["Idempotency-Key: a", "Content-Type: text/plain", "Content-Encoding: x"]) {
  test(`[exchange.statuses] a repeated header that the route does not read is ignored (${header})`, async (t) => {
    const { id } = await server.submit(instance.token);
    const twice = `${header}\r\n${header}\r\n\r\n`;
    const outsider = await connectRaw(t, server.url);
    outsider.send(`DELETE /v1/requests/${id} HTTP/1.1\r\nHost: localhost\r\n${twice}`);
    assertRefused(await outsider.answer(), 401, "invalid_credential");
    const connection = await connectRaw(t, server.url);
    connection.send(`DELETE /v1/requests/${id} HTTP/1.1\r\n${AUTHORIZED}${twice}`);
    assert.equal((await connection.answer()).status, 200);
  });
}

test("[exchange.statuses] a submission with a repeated key and no credential returns 401", async (t) => {
  const connection = await connectRaw(t, server.url);
  const anonymous = submission().replace(/Authorization: .*\r\n/, "Idempotency-Key: b\r\n");
  connection.send(anonymous + BODY);
  assertRefused(await connection.answer(), 401, "invalid_credential");
});
