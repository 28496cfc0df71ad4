/**
 * An agent's process is killed at every point at which anything can have happened, and started
 * again with the same key: the call never runs twice, and never without an approval.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client, Gate } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import { Child, type Owner, temporaryFolder } from "countersign/test/support/child.ts";
import { type AgentScene, startAgentScene } from "./support/agent-scene.ts";
import { type CrashOrder, crashCall, decide } from "./support/crash-order.ts";

const AGENT = join(import.meta.dirname, "support/crash-agent.ts");

function newOrder(scene: AgentScene, folder: string, fields: Partial<CrashOrder>): CrashOrder {
  const { url, token, reviewer } = scene;
  const id = randomUUID();
  const paths = { folder: join(folder, id, "uses"), effects: join(folder, `${id}.log`) };
  return { url, token, reviewer, verdict: "approve", key: id, dieAt: 0, ...paths, ...fields };
}

/** @returns the points that were passed */
async function runAgent(t: Owner, order: CrashOrder): Promise<string[]> {
  const command = [process.execPath, "--no-warnings", AGENT, JSON.stringify(order)];
  const { code, stdout, stderr } = await new Child(t, command, { env: process.env }).ends();
  assert.equal(code, order.dieAt === 0 ? 0 : null, stderr);
  return stdout.trim().split("\n");
}

function effectsOf({ effects }: CrashOrder): number {
  return existsSync(effects) ? readFileSync(effects, "utf8").trim().split("\n").length : 0;
}

/** The agent's next life: nothing of the first is left but the disk. */
async function nextLife(order: CrashOrder): Promise<string> {
  const deciding: typeof fetch = async (input, init) => {
    if (init?.method === "GET") await decide(order, String(input));
    return fetch(input, init);
  };
  const client = new Client(order.url, order.token, { fetch: deciding });
  const gate = new Gate(client, { store: new FileStore(order.folder) });
  let runs = 0;
  const outcome = await gate.guard(crashCall(order), () => ++runs);
  assert.equal(runs, outcome.ran ? 1 : 0);
  return outcome.verdict.kind;
}

async function inPairs<T>(items: readonly T[], each: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const work = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await each(item);
  };
  await Promise.all([work(), work()]);
}

test("[ours.sdk.gate.crash] an agent that is killed at any point runs its call once at most", async (t) => {
  const scene = await startAgentScene(t);
  const folder = temporaryFolder(t);
  const points = await runAgent(t, newOrder(scene, folder, {}));
  assert.match(points.at(-1) ?? "", /outcome approved/);
  const taken = points.findIndex((point) => /open wx/.test(point));
  const started = points.findIndex((point) => /tool had its effect/.test(point));
  assert.ok(taken > 5 && started > taken + 10, points.join("\n"));
  await inPairs([...points.keys()], async (index) => {
    const order = newOrder(scene, folder, { dieAt: index + 1 });
    await runAgent(t, order);
    const before = effectsOf(order);
    const kind = await nextLife(order);
    const runs = before + (kind === "approved" ? 1 : 0);
    // Before its use is recorded nothing is lost; from then on the first life had its chance.
    const expected = index <= taken || index >= started ? 1 : 0;
    assert.equal(runs, expected, `killed at ${points[index]}, then ${kind}`);
    assert.equal(kind, index <= taken ? "approved" : "already_used", points[index]);
  });
});

test("[ours.sdk.gate.crash] an agent that is killed at any point runs nothing that was denied", async (t) => {
  const scene = await startAgentScene(t);
  const folder = temporaryFolder(t);
  const points = await runAgent(t, newOrder(scene, folder, { verdict: "deny" }));
  assert.match(points.at(-1) ?? "", /outcome denied/);
  await inPairs([...points.keys()], async (index) => {
    const order = newOrder(scene, folder, { verdict: "deny", dieAt: index + 1 });
    await runAgent(t, order);
    assert.equal(effectsOf(order), 0, points[index]);
    assert.equal(await nextLife(order), "denied", points[index]);
    assert.equal(existsSync(order.folder), false);
  });
});
