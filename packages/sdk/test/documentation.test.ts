/**
 * Compiles the unchanged snippets of the SDK's documentation, and runs them against a real
 * provider.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Receiver } from "@countersign/sdk";
import { startAgentScene } from "@countersign/testing/agent-scene";
import { Child, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { createSelfSigned } from "../../server/test/support/self-signed.ts";

const ROOT = join(import.meta.dirname, "../../..");
const PAGES = [
  "README.md",
  "docs/guides/choose-a-store.md",
  "docs/guides/gate-one-tool.md",
  "docs/guides/receive-webhooks.md",
  "docs/guides/suspend-and-resume.md",
  "docs/guides/write-your-own-adapter.md",
  "docs/quickstart/typescript-agent.md",
  "docs/reference/sdk.md",
  "packages/sdk/README.md",
];

/** Every block with the name of a file, by language and name. */
function blocks(): Map<string, string> {
  const found = PAGES.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    return [...text.matchAll(/^```(\w+) (\S+)\n(.*?)^```$/gms)];
  });
  return new Map(found.map(([, language, file, text = ""]) => [`${language} ${file}`, text]));
}

/** A project with the snippets, in which packages are found as in any other. */
function project(t: TestContext): string {
  const folder = temporaryFolder(t);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const [name, text] of blocks()) {
    const [language, file = ""] = name.split(" ");
    if (language === "ts") writeFileSync(join(folder, file), text);
  }
  return folder;
}

interface Played {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

function start(t: TestContext, file: string, { folder, env }: Played): Child {
  const command = [process.execPath, "--no-warnings", file];
  const cache = { NODE_COMPILE_CACHE: join(folder, "cache") };
  return new Child(t, command, { cwd: folder, env: { ...process.env, ...cache, ...env } });
}

async function play(t: TestContext, file: string, played: Played): Promise<string> {
  const { code, stdout, stderr } = await start(t, file, played).ends();
  assert.equal(code, 0, stderr);
  return stdout;
}

test("[ours.sdk.documented] every snippet compiles by the rules of this repository", async (t) => {
  const folder = project(t);
  const files = [...blocks().keys()]
    .filter((name) => name.startsWith("ts "))
    .map((n) => n.slice(3));
  assert.ok(files.length >= 6, files.join());
  const config = { extends: join(ROOT, "tsconfig.json"), files, include: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const command = [join(ROOT, "node_modules/.bin/tsc"), "-p", folder];
  const { code, stdout } = await new Child(t, command, { env: process.env }).ends();
  assert.equal(code, 0, stdout);
});

test("[ours.sdk.documented] the code of the guide leads from an empty folder to a call that waits for approval", async (t) => {
  const scene = await startAgentScene(t);
  const folder = project(t);
  const provisioner = await scene.server.token({ kind: "provisioner" });
  const setUp = { COUNTERSIGN_URL: scene.url, PROVISIONER_TOKEN: provisioner };
  const token = await play(t, "provision.ts", { folder, env: setUp });
  assert.match(token, /^cs_inst_\w+$/);
  assert.equal(await play(t, "provision.ts", { folder, env: setUp }), token);
  const env = { COUNTERSIGN_URL: scene.url, COUNTERSIGN_API_KEY: token };
  const call = `import { refund } from "./refund.ts";
    console.log(await refund("call-1", { order: "A-1", cents: 500 }));`;
  writeFileSync(join(folder, "call.ts"), call);
  const first = play(t, "call.ts", { folder, env });
  await scene.decideNext("approve");
  assert.equal(await first, "500 back for A-1\n");
  assert.match(
    await play(t, "call.ts", { folder, env }),
    /^The approval of this call was used before/,
  );
  writeFileSync(join(folder, "call.ts"), call.replace("call-1", "call-2"));
  const second = play(t, "call.ts", { folder, env });
  await scene.decideNext("deny", { note: "Not that customer." });
  assert.equal(await second, "This call was denied: Not that customer.\n");
});

test("[ours.sdk.documented] the first sample asks for a new approval at each start", async (t) => {
  const scene = await startAgentScene(t);
  const folder = project(t);
  const env = scene.environment;
  for (const count of [1, 2]) {
    const played = play(t, "first.ts", { folder, env });
    await scene.decideNext("approve");
    assert.equal(await played, "deployed to prod\n");
    assert.equal(await scene.countRequests(), count);
  }
});

test("[ours.sdk.documented] the sample of README.md waits for approval and runs", async (t) => {
  const scene = await startAgentScene(t);
  const folder = project(t);
  const env = scene.environment;
  const played = play(t, "deploy.ts", { folder, env });
  await scene.decideNext("approve");
  assert.equal(await played, "deployed to prod\n");
});

test("[ours.sdk.documented] the first sample prints the reason of a missing decision", async (t) => {
  const scene = await startAgentScene(t);
  const folder = project(t);
  const env = { COUNTERSIGN_URL: scene.url, COUNTERSIGN_API_KEY: "wrong" };
  const { code, stdout, stderr } = await start(t, "first.ts", { folder, env }).ends();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /The provider answered 401 .+ Check the API key/);
  assert.match(stderr, /^Countersign: No decision .+ 401 .+\n$/);
});

test("[ours.sdk.documented] the rehearsal prints the output in the guide", async (t) => {
  const folder = project(t);
  const printed = await play(t, "rehearsal.ts", { folder, env: {} });
  assert.equal(printed, blocks().get("text rehearsal.ts"));
  const { code } = await start(t, "rehearsal.ts", {
    folder,
    env: { NODE_ENV: "production" },
  }).ends();
  assert.equal(code, 1);
});

test("[ours.sdk.documented] a call is suspended and resumed as the reference shows", async (t) => {
  const { key, certificate } = createSelfSigned();
  const settings = { webhook_allow_cidrs: "127.0.0.0/8" };
  const scene = await startAgentScene(t, { ca: [certificate], settings });
  const { server } = scene;
  const instance = await server.instance();
  const folder = project(t);
  const before = process.cwd();
  process.chdir(folder);
  t.after(() => process.chdir(before));
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_API_KEY: instance.token };
  Object.assign(process.env, env, { TLS_KEY: key, TLS_CERT: certificate, PORT: "0" });
  const { startDeployment, listener, receiver } = (await import(
    pathToFileURL(join(folder, "suspend.ts")).href
  )) as {
    startDeployment(id: string, env: string): Promise<string>;
    listener: Server;
    receiver: Receiver;
  };
  t.after(() => void listener.close());
  if (!listener.listening) await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const attaching = {
    COUNTERSIGN_URL: server.url,
    PROVISIONER_TOKEN: instance.provisioner,
    INSTANCE_ID: instance.id,
    RECEIVER_URL: `https://localhost:${port}/hook`,
  };
  const attached = await play(t, "attach.ts", { folder, env: attaching });
  assert.match(attached, /receives decisions/);
  const log = t.mock.method(console, "log", () => {});
  assert.match(await startDeployment("call-1", "prod"), /waits for approval/);
  await scene.decideNext("approve");
  const printed = await eventually("the result of the call", () => log.mock.calls[0]?.arguments);
  assert.deepEqual(printed, ["deployed to prod"]);
  // Otherwise the receiver still writes when the folder is removed.
  await receiver.settled();
  assert.equal(readdirSync("events/finished").length, 1);
  listener.closeAllConnections();
});

test("[ours.sdk.documented] the guide to suspending submits in one process and continues in others", async (t) => {
  const scene = await startAgentScene(t);
  const folder = project(t);
  const env = scene.environment;
  assert.match(await play(t, "ask.ts", { folder, env }), /waits for approval/);
  assert.match(await play(t, "go-on.ts", { folder, env }), /waits for approval/);
  await scene.decideNext("approve");
  assert.equal(await play(t, "go-on.ts", { folder, env }), "deployed to prod\n");
  assert.match(
    await play(t, "go-on.ts", { folder, env }),
    /^The approval of this call was used before/,
  );
});

test("[ours.sdk.documented] the adapter of the guide runs only approved calls", async (t) => {
  const scene = await startAgentScene(t);
  const folder = project(t);
  const env = scene.environment;
  const program = `import { Countersign } from "@countersign/sdk";
    import { gated } from "./adapter.ts";
    const ask = gated(new Countersign(), { deploy: ({ env }) => "deployed to " + env }, "run 1");
    for (const [id, tool, given] of JSON.parse(process.env.CALLS ?? "[]")) {
      console.log(await ask({ id, tool, arguments: given, text: "It is time." }));
    }`;
  writeFileSync(join(folder, "calls.ts"), program);
  const calls = (...list: readonly unknown[]) => {
    return play(t, "calls.ts", { folder, env: { ...env, CALLS: JSON.stringify(list) } });
  };
  const first = calls(["1", "deploy", { env: "prod" }]);
  await scene.decideNext("approve");
  assert.equal(await first, "deployed to prod\n");
  const second = calls(["2", "deploy", { env: "prod" }]);
  await scene.decideNext("deny", { note: "Not today." });
  assert.equal(await second, "This call was denied: Not today.\n");
  const none = await calls(["3", "toString", {}]);
  assert.equal(none, "There is no tool toString.\n");
});

test("[ours.sdk.documented] the quickstart runs its tool after an approval and prints the note of a denial", async (t) => {
  const scene = await startAgentScene(t);
  const folder = project(t);
  const env = scene.environment;
  const approved = play(t, "quickstart.ts", { folder, env });
  await scene.decideNext("approve");
  assert.equal(await approved, blocks().get("text quickstart.ts"));
  const denied = play(t, "quickstart.ts", { folder, env });
  await scene.decideNext("deny", { note: "Not that customer." });
  assert.equal(await denied, "This call was denied: Not that customer.\n");
});
