/**
 * The commands of "Connect an agent": a shell runs them as they are displayed.
 */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { AGENTS } from "@countersign/agents";
import { Child, type Outcome, type Owner, temporaryFolder } from "@countersign/testing/child";
import { countersign, ownEnvironment } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { ManualClock } from "../../server/test/support/manual-clock.ts";
import { startScene } from "../../server/test/support/scene.ts";
import { CODING_AGENTS, CONNECTIONS } from "../src/parts/connect-texts.ts";

const MODULES = join(import.meta.dirname, "../../../node_modules");

const { server, reviewer, instance } = await startScene(
  { after },
  // The programs have the clock of the system.
  { clock: new ManualClock(Date.now()) },
);
const url = server.provider.publicUrl;

/** A home folder with the packages installed by npm. */
function newHome(t: Owner): string {
  const home = temporaryFolder(t);
  symlinkSync(MODULES, join(home, "node_modules"));
  for (const name of [".claude", ".codex"]) mkdirSync(join(home, name));
  return home;
}

/** Starts displayed commands in this home. They read the credential from stdin. */
function start(t: Owner, home: string, text: string): Child {
  const kept = Object.entries(ownEnvironment()).filter(([name]) => !/^(XDG_|npm_)/.test(name));
  const env = { ...Object.fromEntries(kept), HOME: home, SECRET: instance.token, TEXT: text };
  const command = ["bash", "-c", 'printf "%s\\n" "$SECRET" | bash -c "$TEXT"'];
  return new Child(t, command, { env, cwd: home });
}

function textsOf(value: string): readonly string[] {
  const connection = CONNECTIONS.find((one) => one.value === value);
  assert.ok(connection !== undefined);
  return connection.texts(url).map(({ text }) => text);
}

test("[ours.console.connect] the list contains each coding agent that the hooks support", () => {
  assert.deepEqual(
    CODING_AGENTS.map(([name, title]) => [name, title]),
    AGENTS.map(({ name, title }) => [name, title]),
  );
});

test("[ours.console.connect] each displayed command is a command of the program, with options that it has", async (t) => {
  const texts = CONNECTIONS.flatMap((one) => one.texts(url).map(({ text }) => text));
  const typed = texts.filter((text) => text.startsWith("npx countersign "));
  assert.equal(typed.length, 2 * AGENTS.length);
  const { command, args } = JSON.parse(textsOf("mcp")[1] ?? "").mcpServers.files;
  const gateway = [command, ...args].join(" ").split(" -- ")[0] ?? "";
  const helps = new Map<string, Outcome>();
  for (const text of [...typed, gateway]) {
    const [, , name = "", ...rest] = text.split(" ");
    const help = helps.get(name) ?? (await countersign(t, [name, "--help"]));
    helps.set(name, help);
    assert.equal(help.code, 0, text);
    for (const word of rest.filter((one) => one.startsWith("--"))) {
      assert.ok(help.stdout.includes(`${word} `), text);
    }
  }
});

for (const name of ["claude-code", "codex"]) {
  test(`[ours.console.connect] the commands for ${name} install the hook with the credential that they prompt for`, async (t) => {
    const home = newHome(t);
    const [install = ""] = textsOf(name);
    const { code, stdout, stderr } = await start(t, home, install).ends();
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Hook installed/);
    const profile = readFileSync(join(home, `.config/countersign/adapters/${name}.json`), "utf8");
    assert.ok(profile.includes(instance.token) && profile.includes(url));
  });
}

test("[ours.console.connect] the credential for the MCP gateway is stored in a file of its owner only", async (t) => {
  const home = newHome(t);
  const { code, stderr } = await start(t, home, textsOf("mcp")[0] ?? "").ends();
  assert.equal(code, 0, stderr);
  const file = join(home, ".config/countersign/instance.token");
  assert.equal(readFileSync(file, "utf8"), `${instance.token}\n`);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("[ours.console.connect] the TypeScript program runs its tool after the approval", async (t) => {
  const home = newHome(t);
  const [variables = "", program = "", run = ""] = textsOf("typescript");
  writeFileSync(join(home, "deploy.ts"), program);
  const child = start(t, home, `${variables} && ${run}`);
  const id = await eventually("the request is pending", async () => {
    const path = "/review/v1/requests";
    const listed = await server.call<{ requests: { id: string }[] }>("GET", path, {
      token: reviewer,
    });
    return listed.json.requests[0]?.id;
  });
  await server.decide(reviewer, id, "approve");
  const { stdout, stderr } = await child.ends();
  assert.match(stdout, /deployed to prod/, stderr);
});

test("[ours.console.connect] no displayed command contains a credential", () => {
  for (const { texts } of CONNECTIONS) {
    for (const { text } of texts(url)) assert.doesNotMatch(text, /cs_\w+_/);
  }
});
