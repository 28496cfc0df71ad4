// Needs: openssl
/**
 * Starts the examples without an agent framework from a copy of their folder, twice each, against
 * a real server. packages/sdk/test/agent-examples.test.ts starts the agents.
 */

import assert from "node:assert/strict";
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Agent, makeToken, provision } from "@countersign/testing/agents";
import { Child, temporaryFolder } from "@countersign/testing/child";
import { countersign, ownEnvironment, startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";

const ROOT = join(import.meta.dirname, "../../..");

/** Copies an example into a folder that is like a checkout. @returns the folder of the copy */
function copyExample(t: TestContext, name: string): string {
  const checkout = temporaryFolder(t);
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  const folder = join(checkout, "examples", name);
  mkdirSync(folder, { recursive: true });
  cpSync(join(ROOT, "examples", name), folder, {
    recursive: true,
    // A developer may have started the example.
    filter: (path) => path !== join(ROOT, "examples", name, "data"),
  });
  return folder;
}

interface Start {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

function npmStart(t: TestContext, cwd: string, { args = [], env = {} }: Start = {}): Child {
  const command = ["npm", "start", "--silent", "--", ...args];
  const all = { ...ownEnvironment(), npm_config_update_notifier: "false", ...env };
  return new Child(t, command, { cwd, env: all, isGroup: true });
}

test("[ours.examples.twice] examples/policies: each start tests every policy", async (t) => {
  const folder = copyExample(t, "policies");
  const names = globSync("*.yaml", { cwd: folder });
  for (const _ of [1, 2]) {
    const { code, stdout, stderr } = await npmStart(t, folder).ends();
    assert.equal(code, 0, stderr);
    for (const name of names) {
      assert.match(stdout, new RegExp(`^${name}:\n(\\d+) tests: \\1 passed, 0 failed$`, "m"));
    }
  }
  const broken = join(folder, "coding-agent.yaml");
  writeFileSync(broken, readFileSync(broken, "utf8").replace("then: deny", "then: ask"));
  const { code, stdout } = await npmStart(t, folder).ends();
  assert.notEqual(code, 0, stdout);
});

test("[ours.examples.twice] examples/audit-verifier: each start verifies the current log", async (t) => {
  const folder = copyExample(t, "audit-verifier");
  const server = await startServer(t);
  const provisioner = await makeToken(server.data, { kind: "provisioner" });
  await provision(server, provisioner);
  const verify = async () => {
    const start = npmStart(t, folder, { env: { COUNTERSIGN_DATA: server.data } });
    const { code, stdout, stderr } = await start.ends();
    assert.equal(code, 0, `${stdout}${stderr}`);
    return Number(/^entries 0 to (\d+) verified\n$/m.exec(stdout)?.[1]);
  };
  // The server creates the log with the first sealed entry, after about a second.
  await eventually("the log", async () => {
    const { code } = await countersign(t, ["audit", "key", "--data", server.data]);
    return code === 0 ? true : undefined;
  });
  const before = await verify();
  await provision(server, provisioner, "second");
  // The server seals new entries about every second.
  await eventually("a longer log", async () => ((await verify()) > before ? true : undefined));
});

test("[ours.examples.twice] examples/webhook-receiver: a second start keeps the registration and the events", async (t) => {
  const folder = copyExample(t, "webhook-receiver");
  const data = join(folder, "data");
  const read = (name: string) => readFileSync(join(data, name), "utf8");
  const listening = /^listening on port (\d+)$/m;
  const first = npmStart(t, folder, { args: ["0"] });
  const [, port = ""] = await first.prints("stdout", listening);
  const created = [read("tls-cert.pem"), read("registrations.json"), read("delivery.json")];

  const server = await startServer(t, {
    args: ["--webhook-allow-cidrs", "127.0.0.0/8"],
    env: { NODE_EXTRA_CA_CERTS: join(data, "tls-cert.pem") },
  });
  const token = await makeToken(server.data, { kind: "provisioner" });
  const delivery = join(folder, "delivery.json");
  writeFileSync(delivery, read("delivery.json").replace("8443", port));
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  const args = ["agents", "create", "bot", "--delivery", delivery, "--json"];
  const agent = await countersign(t, args, { env });
  assert.equal(agent.code, 0, agent.stderr);
  const { key } = JSON.parse(agent.stdout) as { readonly key: string };
  const bot = new Agent(server.url, key);
  const { id } = await bot.submit();
  await bot.cancel(id);
  await first.prints("stdout", new RegExp(`"request_id":"${id}"`));
  await first.end("SIGTERM");

  const second = npmStart(t, folder, { args: [port] });
  await second.prints("stdout", listening);
  assert.deepEqual(
    [read("tls-cert.pem"), read("registrations.json"), read("delivery.json")],
    created,
  );
  const { id: later } = await bot.submit();
  await bot.cancel(later);
  await second.prints("stdout", new RegExp(`"request_id":"${later}"`));
  assert.doesNotMatch(second.stdout, new RegExp(id));
});
