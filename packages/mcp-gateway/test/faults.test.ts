/**
 * The parts of the gateway when something around them fails, and over a long time.
 */

import assert from "node:assert/strict";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseJson } from "@countersign/protocol";
import { FileStore } from "@countersign/sdk/file-store";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { ChildChannel } from "../src/child-channel.ts";
import { readConfig } from "../src/config.ts";
import { openGateway } from "../src/gateway.ts";
import { HttpFront } from "../src/http-front.ts";

function reports() {
  const events: string[] = [];
  return { events, report: (event: string) => void events.push(event) };
}

function gatewayOf(stateFolder: string, report: (event: string) => void) {
  const text = JSON.stringify({ servers: { a: { command: "a" } } });
  const config = readConfig(parseJson(text), []);
  const providerUrl = "http://127.0.0.1:1";
  return openGateway({
    config,
    providerUrl,
    instanceToken: "t",
    stateFolder,
    version: "0",
    report,
  });
}

test("[ours.mcp.prune] a running gateway prunes its state folder every day", async (t: TestContext) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const folder = temporaryFolder(t);
  const { report } = reports();
  gatewayOf(folder, report);
  await new FileStore(folder).consume("old");
  const [name = ""] = readdirSync(folder);
  const then = Date.now() / 1000 - 9 * 24 * 3_600;
  utimesSync(join(folder, name), then, then);
  t.mock.timers.tick(24 * 3_600_000);
  await eventually("an empty folder", async () => readdirSync(folder).length === 0 || undefined);
});

test("[ours.mcp.told] a provider that cannot be reached is named before the client's time-out", async (t) => {
  const { approvals } = gatewayOf(temporaryFolder(t), reports().report);
  const verdict = await approvals.check({ idempotencyKey: "k", tool: "a/pay", arguments: {} });
  assert.ok(verdict.status === "unavailable");
  assert.match(verdict.messageForModel, /127.0.0.1:1 could not be reached \(/);
});

test("[ours.mcp.http] a session that fails to open does not use up the session limit", async (t) => {
  const { events, report } = reports();
  let isBroken = true;
  const config = {
    host: "127.0.0.1",
    port: 0,
    tokenFile: "",
    hosts: [],
    origins: [],
    sessionsMax: 1,
    idleMs: 60_000,
    token: "secret",
    bytesMax: 10_000,
  };
  const front = new HttpFront(config, {
    accept: async (channel) => {
      if (isBroken) throw new Error("no file handle is left");
      await channel.start({ message: () => {}, ended: () => {}, lost: () => {} });
    },
    report,
  });
  const url = await front.listen();
  t.after(() => front.close());
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  };
  const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params };
  const open = () => {
    return fetch(url, {
      method: "POST",
      headers: {
        authorization: "Bearer secret",
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
      },
      body: JSON.stringify(hello),
    });
  };
  await assert.rejects(open());
  isBroken = false;
  const response = await open();
  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.deepEqual(events, ["exchange_failed"]);
});

test("[ours.mcp.alone] a failure after the exit of a server is reported and affects no other server", async () => {
  const reported = Promise.withResolvers<string>();
  const order = { command: process.execPath, args: ["-e", ""], env: {}, cwd: undefined };
  const channel = new ChildChannel(order, 10_000, (event) => reported.resolve(event));
  const ended = () => {
    throw new Error("a listener failed");
  };
  await channel.start({ message: () => {}, ended, lost: () => {} });
  assert.equal(await reported.promise, "server_end_failed");
});
