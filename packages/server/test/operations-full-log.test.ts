import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { exchange } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { BIN, ownEnvironment } from "@countersign/testing/countersign";
import { databaseEnvironment } from "./support/engine.ts";

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
}

/** A server whose standard output is on a device that is always full. */
async function startOnFullLog(t: TestContext): Promise<Started> {
  const full = openSync("/dev/full", "w");
  try {
    return await start(t, full);
  } finally {
    closeSync(full);
  }
}

async function start(t: TestContext, stdout: number | "pipe"): Promise<Started> {
  const args = [BIN, "serve", "--port", "0", "--data", join(temporaryFolder(t), "data")];
  const child = spawn(process.execPath, args, {
    env: { ...ownEnvironment(), ...(await databaseEnvironment()) },
    stdio: ["ignore", stdout, "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  assert.ok(child.stderr);
  for await (const line of createInterface({ input: child.stderr })) {
    const url = /serving (http:\S+)/.exec(line)?.[1];
    if (url !== undefined) return { child, url };
  }
  throw new Error("the server did not start");
}

test("[ours.operations.logs] a log that cannot be written stops neither the exchanges nor the stop", async (t) => {
  const { child, url } = await startOnFullLog(t);
  for (let i = 0; i < 200; i++) {
    assert.equal((await exchange("GET", `${url}/healthz`)).status, 200);
  }
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});

test("[ours.operations.logs] SIGTERM stops a server after its log reader has closed the pipe", async (t) => {
  const { child } = await start(t, "pipe");
  const { stdout } = child;
  assert.ok(stdout);
  // Nothing is logged between the close and the stop, so the stop finds the closed pipe first.
  await once(stdout, "data");
  stdout.destroy();
  await once(stdout, "close");
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});
