// Needs: script
import assert from "node:assert/strict";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Child, type Owner, temporaryFolder } from "@countersign/testing/child";
import {
  BIN,
  countersign,
  ownEnvironment,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";

/** The last line of the start output. */
const NEXT = /^ {2}(npx )?countersign (init|agents create my-agent)( --data .+)?\r?$/m;

/** Lines that npm prints before the output of `npm start`. */
const NPM_LINES = 4;

/** Starts a server as a user does, in a folder of its own, and waits for the start output. */
async function firstStart(
  owner: Owner,
  args: readonly string[] = [],
): Promise<{ cwd: string; output: string; server: Child }> {
  const cwd = temporaryFolder(owner);
  const server = spawnCountersign(owner, ["--port", "0", ...args], { cwd });
  await server.prints("stderr", NEXT);
  return { cwd, output: server.stderr, server };
}

test("[ours.operations.first-start] countersign without a command prints the address, the setup link and the next command in 15 lines", async (t) => {
  const { output, server } = await firstStart(t);
  const [, url = ""] =
    /^Countersign \S+ is serving (\S+) \(created the data folder /.exec(output) ?? [];
  assert.match(output, new RegExp(`^ {2}${url}/setup#[\\w-]{43}$`, "m"));
  assert.match(output, /in another terminal in this folder:\n\n {2}(npx )?countersign init\n/);
  assert.ok(output.trimEnd().split("\n").length + NPM_LINES <= 15, output);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  assert.equal((await server.end("SIGTERM")).code, 0);
});

test("[ours.operations.first-start] on a terminal the start prints no JSON and at most 15 lines", async (t) => {
  const cwd = temporaryFolder(t);
  const command = `"${process.execPath}" "${BIN}" --port 0`;
  const env = { ...ownEnvironment(), SHELL: "/bin/sh" };
  const server = new Child(t, ["script", "-qec", command, "/dev/null"], { env, cwd });
  await server.prints("stdout", NEXT);
  assert.doesNotMatch(server.stdout, /[{}]/);
  assert.ok(server.stdout.trimEnd().split("\n").length + NPM_LINES <= 15, server.stdout);
});

test("[ours.operations.first-start] in a pipe the log stays JSON lines on stdout", async (t) => {
  const { server } = await firstStart(t);
  await server.prints("stdout", /^\{"level":"info",.*"event":"server\.started"/m);
  const { code, stdout, stderr } = await server.end("SIGINT");
  assert.equal(code, 0);
  for (const line of stdout.trimEnd().split("\n")) JSON.parse(line);
  assert.match(stderr, /SIGINT: stopping\.\n$/);
});

test("[ours.operations.first-start] the next command names a data folder with any name", async (t) => {
  const { cwd, output } = await firstStart(t, ["--data", "it's my data"]);
  assert.match(output, /countersign init --data 'it'\\''s my data'\n/);
  assert.ok(existsSync(join(cwd, "it's my data", "countersign.db")));
  assert.equal(existsSync(join(cwd, "data")), false);
});

test("[ours.operations.first-start] the first start creates a data folder that only its owner can read", async (t) => {
  const { cwd, output } = await firstStart(t);
  assert.match(output, /\(created the data folder \.\/data\)/);
  assert.equal(statSync(join(cwd, "data")).mode & 0o777, 0o700);
  assert.equal(statSync(join(cwd, "data", "secret.key")).mode & 0o777, 0o600);
});

test("[ours.operations.first-start] a later start names the data folder that it opened", async (t) => {
  const { cwd, server } = await firstStart(t);
  await server.end("SIGTERM");
  const again = spawnCountersign(t, ["serve", "--port", "0"], { cwd });
  await again.prints("stderr", /^Countersign \S+ is serving \S+ \(data folder \.\/data\)\./);
});

test("[ours.operations.first-start] an existing empty folder is used", async (t) => {
  const data = join(temporaryFolder(t), "mine");
  mkdirSync(data);
  const { output } = await firstStart(t, ["--data", data]);
  assert.match(output, /created the data folder/);
});

test("[ours.operations.first-start] countersign on the port of another Countersign server names that server", async (t) => {
  const server = await startServer(t);
  const args = ["--port", server.port, "--data", join(temporaryFolder(t), "data")];
  const { code, stdout, stderr } = await countersign(t, args);
  assert.deepEqual([code, stdout], [1, ""]);
  const url = `http://localhost:${server.port}`;
  const message = `127.0.0.1 port ${server.port} is in use by another Countersign server, ${url};`;
  assert.equal(stderr, `countersign: ${message} set another port with --port\n`);
});
