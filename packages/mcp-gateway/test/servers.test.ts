/**
 * Several servers behind one gateway: whose a tool is, and that one that ends, hangs, floods or
 * lies takes no other with it.
 */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  ListRootsRequestSchema,
  type Progress,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import {
  type ConnectedGateway,
  call,
  connectGateway,
  EVERYTHING,
  Fickle,
  filesServer,
  shownRequest,
  spawnGateway,
  textOf,
  writeConfig,
} from "./support/gateway-scene.ts";

const owner = fileOwner();
let scene: AgentScene;
let folder: string;
let fickle: Fickle;
let gateway: ConnectedGateway;
let changed = Promise.withResolvers<void>();

before(async () => {
  scene = await startAgentScene(owner);
  folder = temporaryFolder(owner);
  writeFileSync(join(folder, "note.txt"), "written before");
  fickle = new Fickle(folder);
  const servers = { files: filesServer(folder), every: EVERYTHING, fickle: fickle.config };
  gateway = await connectGateway(owner, scene, servers, {
    config: { message_mib: 1 },
    capabilities: { roots: {} },
    prepare(client) {
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve());
      client.setRequestHandler(ListRootsRequestSchema, async ({ params }) => {
        assert.match(String(params?._meta?.progressToken), /^gateway-\d+$/);
        const token = params?._meta?.progressToken ?? "";
        const progress: Progress = { progress: 1 };
        await client.notification({
          method: "notifications/progress",
          params: { ...progress, progressToken: token },
        });
        return { roots: [] };
      });
    },
  });
});

async function namesOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

/** Calls again until the server is there; what was refused was never asked about. */
async function approvedOnceThere(name: string): Promise<string> {
  return eventually(`${name} runs`, async () => {
    const calling = call(gateway.client, name);
    const refused = calling.then(() => undefined);
    const pending = scene.nextPending();
    pending.catch(() => {});
    const id = await Promise.race([refused, pending]);
    if (id === undefined) return undefined;
    await scene.server.decide(scene.reviewer, id, "approve");
    return textOf(await calling);
  });
}

test("[ours.mcp.servers] tools have the names of their servers, for the client and for the provider", async () => {
  const names = await namesOf(gateway.client);
  for (const name of ["files__read_text_file", "every__echo", "fickle__pay"]) {
    assert.ok(names.includes(name), names.join());
  }
  const path = join(folder, "note.txt");
  const reading = call(gateway.client, "files__read_text_file", { path });
  const id = await scene.nextPending();
  assert.match(await shownRequest(scene, id), /"tool":"mcp__files__read_text_file"/);
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.equal(textOf(await reading), "written before");
  const refused = call(gateway.client, "files__write_file", { path, content: "after" });
  await scene.decideNext("deny");
  assert.equal((await refused).isError, true);
  assert.equal(readFileSync(path, "utf8"), "written before");
  await assert.rejects(call(gateway.client, "every__read_text_file"), /no tool with this name/);
  await assert.rejects(call(gateway.client, "echo"), /no tool with this name/);
});

test("[ours.mcp.servers] resources, prompts and progress reach the server that owns them", async () => {
  const { client } = gateway;
  const { resources } = await client.listResources();
  assert.ok(resources.some(({ uri }) => uri === "fickle://a"));
  const demo = resources.find(({ uri }) => uri.startsWith("demo:"));
  assert.ok(demo);
  assert.equal((await client.readResource({ uri: demo.uri })).contents.length, 1);
  await assert.rejects(client.readResource({ uri: "file:///etc/passwd" }), /No server has this/);
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some(({ name }) => name === "every__simple-prompt"));
  assert.ok((await client.getPrompt({ name: "every__simple-prompt" })).messages.length > 0);
  await gateway.notify("notifications/test/ask");
  const forwarded = await eventually("the server's own token", () => {
    return fickle.lines().find((line) => line.includes("notifications/progress"));
  });
  assert.match(forwarded, /"progressToken":7[,}]/);
});

test("[ours.mcp.changed] a definition that changes while a call waits stops the call, and is logged", async () => {
  await namesOf(gateway.client);
  const calls = fickle.calls().length;
  const paying = call(gateway.client, "fickle__pay");
  const id = await scene.nextPending();
  changed = Promise.withResolvers();
  await gateway.notify("notifications/test/change", { message: "Pays another account." });
  await changed.promise;
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.match(textOf(await paying), /^The definition of this tool changed/);
  assert.equal(fickle.calls().length, calls);
  await namesOf(gateway.client);
  const again = call(gateway.client, "fickle__pay");
  const { context } = JSON.parse(await shownRequest(scene, await scene.nextPending())) as {
    context: { tool_definition: string };
  };
  await scene.decideNext("deny");
  await again;
  const report = await gateway.reported("tool_definition_changed");
  assert.equal(report["now"], context.tool_definition);
});

test("[ours.mcp.changed] a waiting call runs when the server reports changed tools but its tool is unchanged", async () => {
  const paying = call(gateway.client, "fickle__pay");
  const id = await scene.nextPending();
  const lists = () => fickle.lines().filter((line) => line.includes("tools/list")).length;
  const before = lists();
  changed = Promise.withResolvers();
  await gateway.notify("notifications/test/change", { message: "Pays another account." });
  await changed.promise;
  await eventually("another listing", () => lists() > before || undefined);
  // Its answer to this comes after its answer to the listing.
  await gateway.client.listTools();
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.equal(textOf(await paying), "paid");
});

test("[ours.mcp.alone] a server that ends fails its calls, is restarted, and blocks no other server", async () => {
  const waiting = call(gateway.client, "fickle__wait_for_ever");
  await scene.decideNext("approve");
  await eventually("the call runs", () => {
    return fickle.calls().find((line) => line.includes("wait_for_ever"));
  });
  await gateway.notify("notifications/test/end");
  assert.match(textOf(await waiting), /The tool may have run/);
  const echoing = call(gateway.client, "every__echo", { message: "still here" });
  await scene.decideNext("approve");
  assert.match(textOf(await echoing), /still here/);
  assert.equal(await approvedOnceThere("fickle__pay"), "paid");
});

test("[ours.mcp.alone] a server that exits while a call waits does not receive the call, for any decision", async () => {
  const calls = fickle.calls().length;
  const ends = gateway.reports("server_ended").length;
  const paying = call(gateway.client, "fickle__pay");
  const id = await scene.nextPending();
  await gateway.notify("notifications/test/end");
  await eventually("the end", () => gateway.reports("server_ended").length > ends || undefined);
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.match(textOf(await paying), /ended while the call waited, so it was not run/);
  assert.equal(fickle.calls().length, calls);
});

test("[ours.mcp.alone] a server that floods is ended, and a silent one blocks no other server", async () => {
  assert.equal(await approvedOnceThere("fickle__pay"), "paid");
  const ends = gateway.reports("server_ended").length;
  await gateway.notify("notifications/test/flood");
  const end = await eventually("the end", () => gateway.reports("server_ended")[ends]);
  assert.match(String(end["reason"]), /longer than 1048576 bytes/);
  assert.equal(await approvedOnceThere("fickle__pay"), "paid");
  await gateway.notify("notifications/test/silence");
  const paying = call(gateway.client, "fickle__pay");
  await scene.decideNext("approve");
  const echoing = call(gateway.client, "every__echo", { message: "meanwhile" });
  await scene.decideNext("approve");
  assert.match(textOf(await echoing), /meanwhile/);
  paying.catch(() => {});
});

test("[ours.mcp.pins] tools that differ from their pins are neither listed nor submitted", async (t) => {
  const own = temporaryFolder(t);
  const pinned = new Fickle(own);
  const pins = join(own, "pins.json");
  const servers = { fickle: { ...pinned.config, pins } };
  const config = writeConfig(own, scene, servers);
  const written = await spawnGateway(t, ["--config", config, "--pin", "--json"]).ends();
  assert.equal(written.code, 0, written.stderr);
  const { client, notify } = await connectGateway(t, scene, servers);
  assert.deepEqual(await namesOf(client), ["pay", "wait_for_ever"]);
  const requests = await scene.countRequests();
  await notify("notifications/test/change-quietly", { message: "Pays another account." });
  assert.deepEqual(await namesOf(client), []);
  await notify("notifications/test/change", { message: "Pays another account." });
  assert.match(textOf(await call(client, "pay")), /differs from its pin/);
  assert.equal(await scene.countRequests(), requests);
  assert.deepEqual(pinned.calls(), []);
});

test("[ours.mcp.check] a config is checked by listing what its servers have", async (t) => {
  const own = temporaryFolder(t);
  const servers = { fickle: new Fickle(own).config, gone: { command: join(own, "nothing") } };
  const config = writeConfig(own, scene, servers);
  const { code, stdout, stderr } = await spawnGateway(t, ["--config", config, "--check"]).ends();
  assert.equal(code, 1);
  assert.match(stdout, /fickle__pay +pay on fickle +sha256:/);
  assert.match(stdout, /gone: the server failed to start: spawn .*ENOENT/);
  assert.match(stderr, /"event":"mcp_gateway.server_not_started"/);
});

test("[ours.workload.key-file] the gateway reads the key in the file of COUNTERSIGN_API_KEY_FILE", async (t) => {
  const own = temporaryFolder(t);
  const config = writeConfig(own, scene, { fickle: new Fickle(own).config });
  const keyFile = join(own, "key");
  writeFileSync(keyFile, `${scene.token}\n`, { mode: 0o600 });
  const env = { COUNTERSIGN_API_KEY: "", COUNTERSIGN_API_KEY_FILE: keyFile };
  const outcome = await spawnGateway(t, ["--config", config, "--check"], { env }).ends();
  assert.match(outcome.stdout, /^provider: .*It accepts the credential/m);
});

test("[ours.mcp.check] the provider and the credential are tried as well", async (t) => {
  const own = temporaryFolder(t);
  const servers = { fickle: new Fickle(own).config };
  const good = writeConfig(own, scene, servers);
  const nowhere = writeConfig(own, { url: "http://127.0.0.1:1" }, servers);
  const cases: readonly (readonly [string, string, number, RegExp])[] = [
    [good, scene.token, 0, /^provider: http.*: It accepts the credential\.$/m],
    [good, `${scene.token.slice(0, -1)}!`, 1, /^provider: http.*/m],
    [good, "", 1, /^provider: no key of the agent: give --token-file/m],
    [nowhere, scene.token, 3, /^provider: http:\/\/127\.0\.0\.1:1: .*does not allow this port/m],
  ];
  for (const [config, token, code, says] of cases) {
    const env = { COUNTERSIGN_API_KEY: token };
    const args = ["--config", config, "--check"];
    const outcome = await spawnGateway(t, args, { env }).ends();
    assert.match(outcome.stdout, says);
    assert.match(outcome.stdout, /^fickle: 2 tools$/m);
    assert.equal(outcome.code, code, outcome.stdout);
  }
});
