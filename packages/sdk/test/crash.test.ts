// Tier: slow
/**
 * An agent's process is killed at every point at which anything can have happened, and started
 * again with the same idempotencyKey: the call never runs twice, and never without an approval.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ApprovalClient, Countersign } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { Child, type Owner, temporaryFolder } from "@countersign/testing/child";
import { type CrashOrder, crashCall, decide } from "./support/crash-order.ts";

const AGENT = join(import.meta.dirname, "support/crash-agent.ts");

function newOrder(scene: AgentScene, folder: string, fields: Partial<CrashOrder>): CrashOrder {
  const { url, token, reviewer } = scene;
  const id = randomUUID();
  const paths = { folder: join(folder, id, "uses"), effects: join(folder, `${id}.log`) };
  return {
    url,
    token,
    reviewer,
    verdict: "approve",
    key: id,
    stopAt: 0,
    ...paths,
    ...fields,
  };
}

function startAgent(t: Owner, orders: readonly CrashOrder[]): Child {
  const command = [process.execPath, "--no-warnings", AGENT, JSON.stringify(orders)];
  return new Child(t, command, { env: process.env });
}

/** @returns the points that a life has, when it is not cut short */
async function pointsOf(t: Owner, order: CrashOrder): Promise<string[]> {
  const { code, stdout, stderr } = await startAgent(t, [order]).ends();
  assert.equal(code, 0, stderr);
  return stdout.trim().split("\n");
}

/** Kills one process in which every call has stopped at its point. */
async function killAtAll(t: Owner, orders: readonly CrashOrder[]): Promise<void> {
  const agent = startAgent(t, orders);
  await agent.prints("stdout", /^all have stopped$/m);
  const { code } = await agent.end("SIGKILL");
  assert.equal(code, null);
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
  const client = new ApprovalClient({ url: order.url, apiKey: order.token, fetch: deciding });
  const approvals = new Countersign({ provider: client, store: new FileStore(order.folder) });
  let runs = 0;
  const outcome = await approvals.run(crashCall(order), () => ++runs);
  assert.equal(runs, outcome.status === "executed" ? 1 : 0);
  return outcome.status === "executed" ? outcome.status : outcome.reason;
}

test("[ours.sdk.gate.crash] an agent that is killed at any point runs its call once at most", async (t) => {
  const scene = await startAgentScene(t);
  const folder = temporaryFolder(t);
  const points = await pointsOf(t, newOrder(scene, folder, {}));
  assert.match(points.at(-1) ?? "", /outcome executed/);
  const taken = points.indexOf("open wx");
  const started = points.indexOf("tool had its effect");
  assert.ok(taken > 5 && started > taken + 10, points.join("\n"));
  const orders = points.map((_, index) => newOrder(scene, folder, { stopAt: index + 1 }));
  await killAtAll(t, orders);
  for (const [index, order] of orders.entries()) {
    const before = effectsOf(order);
    const kind = await nextLife(order);
    const runs = before + (kind === "executed" ? 1 : 0);
    // Before its use is recorded nothing is lost; from then on the first life had its chance.
    const expected = index <= taken || index >= started ? 1 : 0;
    assert.equal(runs, expected, `killed at ${points[index]}, then ${kind}`);
    assert.equal(kind, index <= taken ? "executed" : "already_used", points[index]);
  }
});

test("[ours.sdk.gate.crash] an agent killed at any point runs no denied call", async (t) => {
  const scene = await startAgentScene(t);
  const folder = temporaryFolder(t);
  const points = await pointsOf(t, newOrder(scene, folder, { verdict: "deny" }));
  assert.match(points.at(-1) ?? "", /outcome denied/);
  const orders = points.map((_, index) => {
    return newOrder(scene, folder, { verdict: "deny", stopAt: index + 1 });
  });
  await killAtAll(t, orders);
  for (const [index, order] of orders.entries()) {
    assert.equal(effectsOf(order), 0, points[index]);
    assert.equal(await nextLife(order), "denied", points[index]);
    assert.equal(existsSync(order.folder), false);
  }
});
