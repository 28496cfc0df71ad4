// Tier: slow
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalRequest } from "@countersign/protocol";
import { type Agent, type Answer, makeToken, newAgent } from "@countersign/testing/agents";
import { type Owner, temporaryFolder } from "@countersign/testing/child";
import {
  countersign,
  type Server,
  spawnCountersign,
  startServer,
} from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { testOnly } from "./support/engine.ts";

const test = testOnly("sqlite", "the server process is on a folder; see postgres-crash.test.ts");

const CYCLES = 10;
const SUBMITTERS = 12;
/** How much must have been acknowledged before the kill, so that it comes in the midst of work. */
const ACKNOWLEDGED_MIN = 40;

/** The request that the agent sent under a key; the answer is undefined when it was lost. */
interface Sent {
  readonly key: string;
  readonly fields: object;
  acknowledged: Answer<ApprovalRequest> | undefined;
}

const NO_LIMIT = ["--instance-rate", "0"];

/** Submits without a pause until the server is killed in the midst of it. */
async function submitUntilKilled(server: Server, agent: Agent, cycle: number): Promise<Sent[]> {
  const sent: Sent[] = [];
  let acknowledged = 0;
  let killed: Promise<void> | undefined;
  async function submit(): Promise<void> {
    while (killed === undefined) {
      const number = sent.length;
      const fields = { arguments: { cycle, number, filler: "x".repeat(number * 7) } };
      const one: Sent = { key: `${cycle}-${number}`, fields, acknowledged: undefined };
      sent.push(one);
      try {
        one.acknowledged = await agent.post(one.key, fields);
      } catch {
        // The connection broke: nothing was promised.
        continue;
      }
      assert.equal(one.acknowledged.status, 201, one.acknowledged.text);
      if (++acknowledged === ACKNOWLEDGED_MIN + cycle) killed = server.kill();
    }
  }
  await Promise.all(Array.from({ length: SUBMITTERS }, submit));
  await killed;
  return sent;
}

/** Reads and sends again everything, and compares it with the earlier answers. */
async function assertKept(agent: Agent, sent: readonly Sent[]): Promise<void> {
  const left = [...sent];
  async function check(): Promise<void> {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await assertOneKept(agent, one);
  }
  await Promise.all(Array.from({ length: SUBMITTERS }, check));
}

async function assertOneKept(agent: Agent, { key, fields, acknowledged }: Sent): Promise<void> {
  const again = await agent.post(key, fields);
  const { id } = again.json;
  if (acknowledged !== undefined) {
    assert.equal(again.status, 200, `${key} was acknowledged and is gone`);
    assert.equal(again.text, acknowledged.text);
  }
  assert.ok(again.status === 200 || again.status === 201, again.text);
  assert.deepEqual((await agent.read(id)).arguments, (fields as ApprovalRequest).arguments);
}

test("[ours.operations.crash] a server that is killed repeatedly under load keeps everything that it acknowledged", async (t) => {
  const data = join(temporaryFolder(t), "data");
  let server = await startServer(t, { data, args: NO_LIMIT });
  let agent = await newAgent(server);
  const all: Sent[] = [];
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    const sent = await submitUntilKilled(server, agent, cycle);
    // The kill releases the lock, so the next start needs no cleanup.
    server = await startServer(t, { data, args: NO_LIMIT });
    agent = agent.at(server);
    await assertKept(agent, sent);
    all.push(...sent);
  }
  await assertKept(agent, all);
  await server.stop();
});

test("[ours.operations.crash] an acknowledged decision and its validity remain after a crash", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const server = await startServer(t, { data });
  const agent = await newAgent(server);
  const env = { COUNTERSIGN_TOKEN: await makeToken(data, { kind: "reviewer" }) };
  const { id } = await agent.submit();
  const approve = ["requests", "approve", id, "--yes", "--url", server.url];
  assert.equal((await countersign(t, approve, { env })).code, 0);
  const decided = await agent.read(id);
  await server.kill();

  const again = await startServer(t, { data });

  assert.deepEqual(await agent.at(again).read(id), decided);
  assert.equal(decided.status, "approved");
});

test("[ours.operations.crash] a first start that is killed half way is made good by the next", async (t) => {
  for (const milestone of ["secret.key", "countersign.db"]) {
    const data = join(temporaryFolder(t), "data");
    await killWhenThereIs(t, data, milestone);
    const server = await startServer(t, { data });
    const agent = await newAgent(server);
    assert.equal((await agent.submit()).status, "pending");
    await server.stop();
  }
});

async function killWhenThereIs(owner: Owner, data: string, file: string): Promise<void> {
  const child = spawnCountersign(owner, ["serve", "--port", "0", "--data", data, "--json"]);
  await eventually(file, () => (existsSync(join(data, file)) ? true : undefined));
  await child.end("SIGKILL");
}
