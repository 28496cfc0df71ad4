/** The audit stream on the standard output of a server, beside its log. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { newAgent } from "@countersign/testing/agents";
import { startServer } from "@countersign/testing/countersign";
import { databaseEnvironment } from "./support/engine.ts";

const REQUESTS = 20;

const ALL_RESOLVED = new RegExp(
  `(?:"type":"countersign\\.audit\\.request\\.resolved"[^]*?){${REQUESTS}}`,
);

test("[ours.stream.file] events are complete lines between those of the log", async (t) => {
  const server = await startServer(t, {
    args: ["--audit-stream-file", "-", "--log-level", "debug"],
    env: await databaseEnvironment(),
  });
  const agent = await newAgent(server);
  for (let i = 0; i < REQUESTS; i++) {
    const { id } = await agent.submit();
    await agent.cancel(id);
  }
  await server.process.prints("stdout", ALL_RESOLVED);
  await server.stop();
  const lines = server.process.stdout.trimEnd().split("\n");
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const events = parsed.filter(({ specversion }) => specversion === "1.0");
  assert.ok(events.length > REQUESTS);
  assert.ok(parsed.some(({ event }) => event === "exchange.ended"));
});

test("[ours.stream.back-pressure] a closed standard output stops no decision", async (t) => {
  const server = await startServer(t, {
    args: ["--audit-stream-file", "-"],
    env: await databaseEnvironment(),
  });
  const agent = await newAgent(server);
  server.process.stopReading();
  for (let i = 0; i < REQUESTS; i++) {
    const { id } = await agent.submit();
    await agent.cancel(id);
  }
  const { id } = await agent.submit();
  assert.equal((await agent.read(id)).status, "pending");
});
