// Needs: prlimit
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalRequest } from "@countersign/protocol";
import {
  type Agent,
  type Answer,
  exchange,
  makeToken,
  newAgent,
} from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { countersign, startServer } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { assertUnavailable, makeRoom, takeAllRoom } from "./support/disk-room.ts";
import { testOnly } from "./support/engine.ts";

const test = testOnly("sqlite", "the disk of a file of SQLite is full");

/**
 * No file may grow beyond this many blocks of 512 bytes. It is how a disk is full for one process
 * on any machine: a write goes as far as it can and then fails, and may succeed again later.
 */
function underFileLimit(blocks: number): string[] {
  return ["sh", "-c", `ulimit -S -f ${blocks}; exec "$@"`, "sh"];
}

/** Room for a start and some hundred kilobytes of requests. */
const SMALL = underFileLimit(2_600);

interface Filled {
  readonly acknowledged: Map<string, ApprovalRequest>;
  readonly refused: readonly Answer[];
}

const fieldsOf = (key: string) => ({ arguments: { key, filler: "x".repeat(20_000) } });

/**
 * Submits a few that there is room for, and then from many sides at once far more than that: all
 * that arrive at one moment are one commit, which has room or has not.
 */
async function fill(agent: Agent): Promise<Filled> {
  const keys = Array.from({ length: 120 }, (_, number) => `fill-${number}`);
  const submit = (key: string) => agent.post(key, fieldsOf(key));
  const answers: Awaited<ReturnType<typeof submit>>[] = [];
  for (const key of keys.slice(0, 3)) answers.push(await submit(key));
  answers.push(...(await Promise.all(keys.slice(3).map(submit))));
  const acknowledged = new Map<string, ApprovalRequest>();
  for (const [index, answer] of answers.entries()) {
    if (answer.status === 201) acknowledged.set(keys[index] ?? "", answer.json);
  }
  const refused = answers.filter(({ status }) => status !== 201);
  assert.notEqual(acknowledged.size, 0, "there was no room at all");
  assert.notEqual(refused.length, 0, "there was room for everything");
  return { acknowledged, refused };
}

async function assertAllThere(agent: Agent, { acknowledged }: Filled): Promise<void> {
  for (const [key, request] of acknowledged) {
    assert.deepEqual(await agent.read(request.id), request);
    const replay = await agent.post(key, fieldsOf(key));
    assert.deepEqual([replay.status, replay.json], [200, request]);
  }
}

test("[ours.operations.disk-full] a write without disk space returns 503 with Retry-After, and acknowledged requests can be read", async (t) => {
  const server = await startServer(t, { under: SMALL });
  const agent = await newAgent(server);
  const filled = await fill(agent);

  for (const answer of filled.refused) assertUnavailable(answer);
  for (const request of filled.acknowledged.values()) {
    assert.deepEqual(await agent.read(request.id), request);
  }
  assert.equal((await exchange("GET", `${server.url}/healthz`)).status, 200);
  const metrics = await exchange("GET", `${server.url}/metrics`);
  assert.match(metrics.text, /^countersign_failures_total\{dependency="store"\} [1-9]/m);
  assert.match((await server.stop()).stdout, /"event":"dependency\.failed","dependency":"store"/);
});

test("[ours.operations.disk-full] when there is disk space again, the running server works and has lost nothing", async (t) => {
  const server = await startServer(t, { under: SMALL });
  const agent = await newAgent(server);
  const filled = await fill(agent);

  makeRoom(server);

  assert.equal((await agent.post("after", fieldsOf("after"))).status, 201);
  await assertAllThere(agent, filled);
  await server.stop();
});

test("[ours.operations.disk-full] a restart with disk space has everything, and rejected requests can be sent again", async (t) => {
  const server = await startServer(t, { under: SMALL });
  const agent = await newAgent(server);
  const filled = await fill(agent);
  await server.kill();

  const again = await startServer(t, { data: server.data });

  await assertAllThere(agent.at(again), filled);
  for (let number = 0; number < 120; number++) {
    const key = `fill-${number}`;
    const { status } = await agent.at(again).post(key, fieldsOf(key));
    assert.equal(status, filled.acknowledged.has(key) ? 200 : 201);
  }
});

test("[ours.operations.disk-full] a verdict fails and an expiry waits; both succeed when the disk has space", async (t) => {
  const server = await startServer(t);
  const agent = await newAgent(server);
  const env = { COUNTERSIGN_TOKEN: await makeToken(server.data, { kind: "reviewer" }) };
  const pending = await agent.submit();
  const ending = await agent.submit({ timeout: "2s" });
  takeAllRoom(server);

  const approve = ["requests", "approve", pending.id, "--yes", "--url", server.url];
  const refused = await countersign(t, approve, { env });
  assert.equal(refused.code, 3, refused.stderr);
  assert.equal(
    refused.stderr,
    "countersign: The provider is temporarily unavailable. Retry later with the same input.\n",
  );
  assert.deepEqual(await agent.read(pending.id), pending);
  const late = await eventually("the deadline", async () => {
    const answer = await agent.get(ending.id);
    return answer.status === 200 && answer.json.status === "pending" ? undefined : answer;
  });
  assertUnavailable(late);

  makeRoom(server);

  assert.equal((await countersign(t, approve, { env })).code, 0);
  assert.equal((await agent.read(pending.id)).status, "approved");
  assert.equal((await agent.read(ending.id)).status, "expired");
});

test("[ours.operations.disk-full] a start without disk space fails with one line, and succeeds when there is space", async (t) => {
  const data = join(temporaryFolder(t), "data");
  const serve = ["serve", "--port", "0", "--data", data, "--json"];
  for (const blocks of [0, 16, 100]) {
    const { code, stdout, stderr } = await countersign(t, serve, { under: underFileLimit(blocks) });
    assert.equal(code, 1, stdout + stderr);
    assert.equal(stdout, "");
    assert.match(stderr, /^[^\n]+\n$/);
  }
  const server = await startServer(t, { data });
  assert.equal((await (await newAgent(server)).submit()).status, "pending");
});

test("[ours.operations.disk-full] backup on a full disk fails and leaves no partial copy", async (t) => {
  const server = await startServer(t, { args: ["--instance-rate", "0"] });
  const agent = await newAgent(server);
  for (let number = 0; number < 20; number++) await agent.submit(fieldsOf(String(number)));
  const folder = temporaryFolder(t);
  const backup = ["backup", join(folder, "copy.db"), "--data", server.data];
  const { code, stderr } = await countersign(t, backup, { under: underFileLimit(100) });
  assert.equal(code, 1);
  assert.match(stderr, /^countersign: the backup failed: .+\n$/);
  assert.deepEqual(readdirSync(folder), []);
});

test("[ours.operations.disk-full] [ours.operations.health] a server that cannot write is alive and not ready", async (t) => {
  const server = await startServer(t);
  takeAllRoom(server);
  const notReady = await eventually("not ready", async () => {
    const answer = await exchange("GET", `${server.url}/readyz`);
    return answer.status === 503 ? answer : undefined;
  });
  assertUnavailable(notReady);
  assert.equal((await exchange("GET", `${server.url}/healthz`)).status, 200);

  makeRoom(server);

  await eventually("ready again", async () => {
    const { status } = await exchange("GET", `${server.url}/readyz`);
    return status === 200 ? true : undefined;
  });
});
