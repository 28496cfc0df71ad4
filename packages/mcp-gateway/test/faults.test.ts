/**
 * The parts of the gateway when something around them fails, and over a long time.
 */

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseJson } from "@countersign/protocol";
import { startAgentScene } from "@countersign/testing/agent-scene";
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

const UNREACHABLE = { url: "http://127.0.0.1:1", token: "t" };

function gatewayOf(
  stateFolder: string,
  report: (event: string) => void,
  { url, token }: { readonly url: string; readonly token: string } = UNREACHABLE,
) {
  const text = JSON.stringify({ servers: { a: { command: "a" } } });
  const config = readConfig(parseJson(text), []);
  return openGateway({
    config,
    providerUrl: url,
    instanceToken: token,
    stateFolder,
    version: "0",
    report,
  });
}

/** Makes a file or folder nine days old. */
function age(path: string): void {
  const then = Date.now() / 1000 - 9 * 24 * 3_600;
  utimesSync(path, then, then);
}

test("[ours.mcp.prune] an approved call deletes old records of the state folder", async (t) => {
  const scene = await startAgentScene(t);
  const folder = temporaryFolder(t);
  for (const name of ["old", "pruned"]) {
    writeFileSync(join(folder, name), "");
    age(join(folder, name));
  }
  const { events, report } = reports();
  const { approvals } = gatewayOf(folder, report, scene);
  const checking = approvals.check({ idempotencyKey: "k", tool: "a/pay", arguments: {} });
  await scene.decideNext("approve");
  assert.equal((await checking).status, "approved");
  const isDeleted = () => !readdirSync(folder).includes("old") || undefined;
  await eventually("the old record is deleted", isDeleted);
  assert.deepEqual(events, []);
});

test("[ours.mcp.prune] the gateway reports old records that it cannot delete", async (t) => {
  const scene = await startAgentScene(t);
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "pruned"));
  age(join(folder, "pruned"));
  const { events, report } = reports();
  const { approvals } = gatewayOf(folder, report, scene);
  const checking = approvals.check({ idempotencyKey: "k", tool: "a/pay", arguments: {} });
  await scene.decideNext("approve");
  assert.equal((await checking).status, "approved");
  await eventually("a report", () => events.includes("prune_failed") || undefined);
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
    tokenFile: undefined,
    oauth: undefined,
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
