// Needs: bash
import assert from "node:assert/strict";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Child, type Owner, temporaryFolder } from "@countersign/testing/child";
import { BIN, ownEnvironment, spawnCountersign } from "@countersign/testing/countersign";

const STAND_IN = join(import.meta.dirname, "support/curl.ts");

/** Uses the stand-in where there is no curl, or everywhere. */
const CURL = {
  "the machine's": 'command -v curl >/dev/null || curl() { "$NODE" "$STAND_IN" "$@"; }',
  "the stand-in": 'curl() { "$NODE" "$STAND_IN" "$@"; }',
} as const;

/** Starts a server as a person does, in a folder of its own, and waits for what it prints. */
async function firstStart(
  owner: Owner,
  args: readonly string[] = [],
): Promise<{ cwd: string; banner: string; server: Child }> {
  const cwd = temporaryFolder(owner);
  const server = spawnCountersign(owner, ["serve", "--port", "0", ...args], { cwd });
  await server.prints("stderr", /requests watch\n/);
  return { cwd, banner: server.stderr, server };
}

/** The printed steps, run word for word; only where `npx` would look is given. */
function follow(owner: Owner, banner: string, cwd: string, curl: keyof typeof CURL): Child {
  const [, steps = ""] = banner.split("in another terminal in the same folder:\n");
  const script = steps
    .replaceAll(/^ {2}/gm, "")
    .replaceAll("npx --no -- countersign", '"$NODE" "$BIN"')
    .replace('"$NODE" "$BIN" requests watch', 'exec "$NODE" "$BIN" requests watch');
  assert.match(script, /tokens create reviewer.*tokens create provisioner.*exec .* watch/s);
  const env = { ...ownEnvironment(), NODE: process.execPath, BIN, STAND_IN };
  return new Child(owner, ["bash", "-euo", "pipefail", "-c", `${CURL[curl]}\n${script}`], {
    env,
    cwd,
  });
}

test("[ours.operations.first-start] the printed steps lead, word for word, from nothing to a request that is watched", async (t) => {
  const { cwd, banner, server } = await firstStart(t);
  const steps = follow(t, banner, cwd, "the machine's");

  const [, id = ""] = await steps.prints(
    "stdout",
    /^\{"id":"([^"]+)","tool":"deploy",.*"pending"/m,
  );
  await steps.prints("stdout", new RegExp(`^pending   ${id}  deploy  \\{"env":"prod"\\}$`, "m"));

  const { code, stderr } = await steps.end("SIGINT");
  assert.deepEqual([code, stderr], [0, ""]);
  assert.equal((await server.end("SIGTERM")).code, 0);
});

test("[ours.operations.first-start] they do so in a folder with any name, under a prefix, and without curl", async (t) => {
  const args = ["--data", "it's my data", "--path-prefix", "/api/aap"];
  const { cwd, banner } = await firstStart(t, args);
  const steps = follow(t, banner, cwd, "the stand-in");
  await steps.prints("stdout", /^pending {3}.* deploy /m);
  const { code, stderr } = await steps.end("SIGINT");
  assert.deepEqual([code, stderr], [0, ""]);
  assert.ok(existsSync(join(cwd, "it's my data", "countersign.db")));
  assert.equal(existsSync(join(cwd, "data")), false);
});

test("[ours.operations.first-start] the first start makes a data folder that only its owner reads, and says so", async (t) => {
  const { cwd, banner } = await firstStart(t);
  assert.match(
    banner,
    /^Countersign \d+\.\d+\.\d+: created a database and secret key in \.\/data, /m,
  );
  assert.equal(statSync(join(cwd, "data")).mode & 0o777, 0o700);
  assert.equal(statSync(join(cwd, "data", "secret.key")).mode & 0o777, 0o600);
});

test("[ours.operations.first-start] every address it prints is the server's, and those of its own answer", async (t) => {
  const { banner } = await firstStart(t);
  const [, url = ""] = /serving (http:\/\/localhost:\d+)$/m.exec(banner) ?? [];
  const addresses = new Set(banner.match(/https?:\/\/[^\s)]+/g));
  for (const address of addresses) assert.ok(address.startsWith(url), address);
  for (const path of ["/openapi.yaml", "/healthz", "/readyz", "/metrics"]) {
    assert.ok(addresses.has(url + path), `${path} is not printed`);
    assert.equal((await fetch(url + path)).status, 200);
  }
});

test("[ours.operations.first-start] a later start says that it opened what was there", async (t) => {
  const { cwd, server } = await firstStart(t);
  await server.end("SIGTERM");
  const again = spawnCountersign(t, ["serve", "--port", "0"], { cwd });
  await again.prints("stderr", /^Countersign \S+: opened the database in \.\/data, serving /m);
});

test("[ours.operations.first-start] a folder that is there and empty is used", async (t) => {
  const data = join(temporaryFolder(t), "mine");
  mkdirSync(data);
  const { banner } = await firstStart(t, ["--data", data]);
  assert.match(banner, /created a database and secret key/);
});
