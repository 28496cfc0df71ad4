import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { before, type TestContext, test } from "node:test";
import { Agent, makeToken, provision } from "@countersign/testing/agents";
import { fileOwner, type Outcome } from "@countersign/testing/child";
import { countersign, type Server, startServer } from "@countersign/testing/countersign";

const file = fileOwner();
let server: Server;
let projects = 0;

before(async () => {
  server = await startServer(file);
});

interface FreezeScene {
  readonly agent: Agent;
  readonly instanceId: string;
  readonly token: string;
}

/** A project of its own. */
async function newScene(role: "reviewer" | "operator" = "reviewer"): Promise<FreezeScene> {
  const project = `project${++projects}`;
  const provisioner = await makeToken(server.data, { kind: "provisioner", project });
  const { instance, credential } = await provision(server, provisioner);
  const token = await makeToken(server.data, { kind: "reviewer", project, role });
  return { agent: new Agent(server.url, credential.token), instanceId: instance.id, token };
}

function run(t: TestContext, { token }: FreezeScene, ...args: string[]): Promise<Outcome> {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: token };
  return countersign(t, args, { env });
}

/** @returns stdout of a command that is done and has nothing to remark */
async function done(t: TestContext, scene: FreezeScene, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(t, scene, ...args);
  assert.deepEqual([code, stderr], [0, ""]);
  return stdout;
}

test("[ours.freeze.cli] one command freezes an instance, the project or the server, and one lifts it", async (t) => {
  const scene = await newScene("operator");
  const { agent, instanceId } = scene;
  assert.equal(await done(t, scene, "freezes", "list"), "Nothing is frozen.\n");
  for (const scope of [instanceId, "--project", "--server"]) {
    const { id } = await agent.submit();
    const output = await done(t, scene, "freeze", scope, "--note", "stop it");
    assert.match(output, /^Frozen: .+\. Denied 1 pending request\.\n$/);
    const { status, decision } = await agent.read(id);
    assert.deepEqual([status, (decision as { note?: string }).note], ["denied", "stop it"]);
    const [head, row, ...others] = (await done(t, scene, "freezes", "list")).trimEnd().split("\n");
    assert.match(head ?? "", /^FREEZE +OF +SINCE +LIFTED +NOTE$/);
    assert.match(row ?? "", /^[0-9a-f-]{36} .+ stop it$/);
    assert.deepEqual(others, []);
    assert.match(await done(t, scene, "unfreeze", scope), /^Lifted the freeze of .+\.\n$/);
    assert.equal(await done(t, scene, "freezes", "list"), "Nothing is frozen.\n");
    assert.equal((await agent.submit()).status, "pending");
    await done(t, scene, "freeze", scope);
    await done(t, scene, "unfreeze", scope);
  }
  const lifted = JSON.parse(await done(t, scene, "freezes", "list", "--lifted", "--json"));
  assert.equal(lifted.length, 6);
});

test("[ours.freeze.cli] freeze prints the answer of the server as JSON", async (t) => {
  const scene = await newScene();
  const output = JSON.parse(await done(t, scene, "freeze", "--project", "--json"));
  assert.deepEqual([output.scope, output.denied, output.complete], ["project", 0, true]);
  const lifted = JSON.parse(await done(t, scene, "unfreeze", "--project", "--json"));
  assert.equal(lifted.id, output.id);
});

test("[ours.freeze.cli] freeze requires exactly one scope, and reports rejections and wrong usage", async (t) => {
  const scene = await newScene();
  const { instanceId } = scene;
  const wrong = [[], [instanceId, "--project"], ["--project", "--server"], ["x"]];
  for (const command of ["freeze", "unfreeze"]) {
    for (const args of wrong) {
      const { code, stdout, stderr } = await run(t, scene, command, ...args);
      assert.deepEqual([code, stdout], [2, ""], args.join());
      assert.match(stderr, /^countersign: .+\n$/);
    }
  }
  for (const args of [
    ["freeze", "--server"],
    ["freeze", randomUUID()],
    ["unfreeze", "--project"],
  ]) {
    const { code, stdout, stderr } = await run(t, scene, ...args);
    assert.deepEqual([code, stdout], [1, ""], args.join());
    assert.match(stderr, /^countersign: .+\n$/);
  }
});

/** More than unfreeze used to read. A real server would need as many instances. */
const PAGES = 6;
const PAGE = 200;

function frozenInstance(number: number): object {
  const id = `01890a5d-ac96-774b-bcce-${String(number).padStart(12, "0")}`;
  const instance = { id, name: "agent" };
  return { id, scope: "instance", instance, frozen_at: "2026-01-01T00:00:00Z", frozen_by: "ana" };
}

test("[ours.freeze.cli] unfreeze finds the active freeze on the last page of a long list", async (t) => {
  const lifted: string[] = [];
  const provider = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const last = { ...frozenInstance(PAGES * PAGE), scope: "project", instance: undefined };
    if (request.method === "POST") {
      lifted.push(pathname);
      response.end(JSON.stringify(last));
      return;
    }
    const page = Number(searchParams.get("after") ?? 0);
    const freezes: object[] = Array.from({ length: PAGE }, (_, index) =>
      frozenInstance(page * PAGE + index),
    );
    const next = page + 1 < PAGES ? String(page + 1) : null;
    if (next === null) freezes.push(last);
    response.end(JSON.stringify({ freezes, next, now: "2026-01-01T00:00:00Z" }));
  }).listen(0, "127.0.0.1");
  t.after(() => provider.close());
  await once(provider, "listening");
  const { port } = provider.address() as AddressInfo;
  const env = { COUNTERSIGN_URL: `http://127.0.0.1:${port}`, COUNTERSIGN_TOKEN: "token" };
  const { code, stderr } = await countersign(t, ["unfreeze", "--project"], { env });
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(lifted, ["/review/v1/freezes/01890a5d-ac96-774b-bcce-000000001200/lift"]);
});
