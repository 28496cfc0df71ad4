import assert from "node:assert/strict";
import { test } from "node:test";
import { type Agent, exchange, newAgent, SUBMISSION } from "@countersign/testing/agents";
import type { Owner } from "@countersign/testing/child";
import { type Server, startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { accepts, RawConnection } from "@countersign/testing/raw-connection";
import { databaseEnvironment } from "./support/engine.ts";

async function untilHeld(server: Server, polls: number): Promise<void> {
  const line = new RegExp(`^countersign_polls_held ${polls}$`, "m");
  await eventually(`${polls} long polls`, async () => {
    const { text } = await exchange("GET", `${server.url}/metrics`);
    return line.test(text) ? true : undefined;
  });
}

/** From here on the server has heard the signal. */
async function untilRefusing(server: Server): Promise<void> {
  await eventually("a refused connection", async () => {
    return (await accepts(server.url)) ? undefined : true;
  });
}

/** A submission whose body is still on its way; the server has begun to read it. */
async function halfSubmission(
  owner: Owner,
  server: Server,
  agent: Agent,
  afterwards: "close" | "keep-alive" = "close",
): Promise<{ connection: RawConnection; rest: string }> {
  const body = JSON.stringify(SUBMISSION);
  const connection = await RawConnection.open(owner, server.url);
  connection.send(
    `POST /v1/requests HTTP/1.1\r\nHost: localhost\r\nConnection: ${afterwards}\r\n` +
      `Authorization: Bearer ${agent.token}\r\nIdempotency-Key: half\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
      "Expect: 100-continue\r\n\r\n",
  );
  await connection.receives(/100 Continue\r\n\r\n/);
  connection.send(body.slice(0, 10));
  return { connection, rest: body.slice(10) };
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`[ours.operations.drain] ${signal} answers long polls with the current state, and the process exits 0`, async (t) => {
    const server = await startServer(t, { env: await databaseEnvironment() });
    const agent = await newAgent(server);
    const requests = [await agent.submit(), await agent.submit()];
    const polls = requests.map(({ id }) => agent.read(id, "?wait=30s"));
    await untilHeld(server, 2);

    const stopped = server.process.end(signal);

    assert.deepEqual(await Promise.all(polls), requests);
    const { code, stdout, stderr } = await stopped;
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /"event":"server\.stopped"\}\n$/);
  });
}

test("[ours.operations.drain] an exchange that had started is finished, and its writes exist afterwards", async (t) => {
  const server = await startServer(t, { env: await databaseEnvironment() });
  const agent = await newAgent(server);
  const { connection, rest } = await halfSubmission(t, server, agent);
  const stopped = server.process.end("SIGTERM");
  await untilRefusing(server);

  connection.send(rest);

  const [, id = ""] = await connection.receives(/HTTP\/1\.1 201 Created.*"id":"([^"]+)"/s);
  assert.equal((await stopped).code, 0);
  const again = await startServer(t, { data: server.data, env: server.env });
  assert.equal((await agent.at(again).read(id)).status, "pending");
});

test("[ours.operations.drain] a request sent right after an exchange under way is answered as well", async (t) => {
  const server = await startServer(t, { env: await databaseEnvironment() });
  const agent = await newAgent(server);
  const { connection, rest } = await halfSubmission(t, server, agent, "keep-alive");
  const stopped = server.process.end("SIGTERM");
  await untilRefusing(server);

  const next = `GET /v1/requests/none HTTP/1.1\r\nHost: localhost`;
  connection.send(`${rest}${next}\r\nAuthorization: Bearer ${agent.token}\r\n\r\n`);

  await connection.receives(/201 Created.*HTTP\/1\.1 (404|503) /s);
  assert.equal((await stopped).code, 0);
});

test("[ours.operations.drain] an exchange that does not end is cut off after the grace, and the process exits 0", async (t) => {
  const server = await startServer(t, {
    args: ["--shutdown-grace", "1s"],
    env: await databaseEnvironment(),
  });
  const agent = await newAgent(server);
  const { connection } = await halfSubmission(t, server, agent);
  const stopped = server.process.end("SIGTERM");
  await connection.closed();
  assert.doesNotMatch(connection.received, / 201 /);
  assert.equal((await stopped).code, 0);
});

test("[ours.operations.drain] a connection that is kept open between exchanges does not hold the process", async (t) => {
  const server = await startServer(t, {
    args: ["--shutdown-grace", "1h"],
    env: await databaseEnvironment(),
  });
  const idle = await RawConnection.open(t, server.url);
  idle.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await idle.receives(/"ok"/);
  await server.stop();
  await idle.closed();
});

test("[ours.operations.drain] a second signal ends a process that still drains", async (t) => {
  const server = await startServer(t, {
    args: ["--shutdown-grace", "1h"],
    env: await databaseEnvironment(),
  });
  const agent = await newAgent(server);
  await halfSubmission(t, server, agent);
  server.process.signal("SIGTERM");
  await untilRefusing(server);
  assert.equal((await server.process.end("SIGTERM")).code, null);
});

test("[ours.operations.health] /healthz and /readyz answer without a credential while the server serves", async (t) => {
  const server = await startServer(t, { env: await databaseEnvironment() });
  const health = await exchange("GET", `${server.url}/healthz`);
  assert.deepEqual([health.status, health.json], [200, { status: "ok" }]);
  const ready = await exchange("GET", `${server.url}/readyz`);
  assert.deepEqual([ready.status, ready.json], [200, { status: "ready" }]);
});

test("[ours.operations.health] while the server stops it lives, and is not ready", async (t) => {
  const server = await startServer(t, { env: await databaseEnvironment() });
  // Each asks once, and has half asked again before the signal comes.
  const [health, ready] = [
    await RawConnection.open(t, server.url),
    await RawConnection.open(t, server.url),
  ];
  for (const [connection, path] of [
    [health, "/healthz"],
    [ready, "/readyz"],
  ] as const) {
    const question = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n`;
    connection.send(`${question}\r\n${question}`);
    await connection.receives(/"status":"(ok|ready)"\}/);
    connection.received = "";
  }
  const stopped = server.process.end("SIGTERM");
  await untilRefusing(server);

  health.send("\r\n");
  ready.send("\r\n");

  await health.receives(/^HTTP\/1\.1 200 OK.*\{"status":"ok"\}/s);
  const [answer] = await ready.receives(/^HTTP\/1\.1 503 .*\}\}/s);
  assert.match(answer, /^retry-after: [1-9]\d*\r$/im);
  assert.match(answer, /"code":"unavailable"/);
  assert.equal((await stopped).code, 0);
});

test("[ours.operations.health] after the process has ended, connections fail", async (t) => {
  const server = await startServer(t, { env: await databaseEnvironment() });
  await server.stop();
  assert.equal(await accepts(server.url), false);
});

test("[ours.operations.drain] a connection that never sent a request does not hold up the stop", async (t) => {
  const server = await startServer(t, {
    args: ["--shutdown-grace", "1h"],
    env: await databaseEnvironment(),
  });
  const unused = await RawConnection.open(t, server.url);

  const { code } = await server.stop();

  assert.equal(code, 0);
  await unused.closed();
});
