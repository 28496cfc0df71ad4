import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { Child } from "./child.ts";

const ENV = {};

/** A program that runs while its connection to the port is open. */
function connectingProgram(port: number): string {
  return `
    require("node:net")
      .connect(${port}, "127.0.0.1")
      .on("connect", () => console.log("connected"))`;
}

/** A program that starts another one and then ends: after its first output, if that is a pipe. */
function leadingProgram(other: string, stdio: readonly string[]): string {
  return `
    const { spawn } = require("node:child_process");
    const args = ["-e", ${JSON.stringify(other)}];
    const child = spawn(process.execPath, args, { stdio: ${JSON.stringify(stdio)} });
    if (child.stdout === null) process.exit(0);
    child.stdout.once("data", () => process.exit(0));`;
}

interface Leader {
  readonly child: Child;
  /** Of the second process. It closes when that process ends. */
  readonly connection: Promise<Socket>;
}

async function startLeader(
  t: TestContext,
  stdio: readonly string[],
  isGroup: boolean,
): Promise<Leader> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const connection = once(server, "connection").then(([socket]) => (socket as Socket).resume());
  t.after(async () => {
    (await connection).destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const code = leadingProgram(connectingProgram(port), stdio);
  const child = new Child(t, [process.execPath, "-e", code], { env: ENV, isGroup });
  return { child, connection };
}

for (const isGroup of [false, true]) {
  const start = (t: TestContext) => new Child(t, ["/no/such/program"], { env: ENV, isGroup });

  test(`a process that cannot start has ended (isGroup: ${isGroup})`, async (t) => {
    const child = start(t);
    await assert.rejects(child.prints("stdout", /ready/), /ended without printing.*ENOENT/s);
    await assert.rejects(child.ends(), { code: "ENOENT" });
  });

  test(`a signal before a failed start does nothing (isGroup: ${isGroup})`, async (t) => {
    const child = start(t);
    child.signal("SIGKILL");
    await child.exited;
    child.signal("SIGKILL");
  });
}

test("the end of a group kills its processes that closed their output", async (t) => {
  const { child, connection } = await startLeader(t, ["ignore", "pipe", "ignore"], true);
  const { code, stderr } = await child.ends();
  assert.equal(code, 0, stderr);
  const socket = await connection;
  if (!socket.closed) await once(socket, "close", { signal: AbortSignal.timeout(10_000) });
});

test("ends() rejects after its limit when another process keeps the output open", async (t) => {
  const { child } = await startLeader(t, ["ignore", "inherit", "inherit"], false);
  await child.prints("stdout", /connected/);
  await assert.rejects(child.ends(1), /did not end in time/);
});
