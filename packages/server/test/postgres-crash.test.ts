// Tier: slow
/**
 * Three server processes on one PostgreSQL, with callers who send everything again until it is
 * answered, while processes are killed and the database starts anew.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApprovalRequest, RequestStatus } from "@countersign/protocol";
import { SUBMISSION } from "@countersign/testing/agents";
import { eventually } from "@countersign/testing/eventually";
import { type Cluster, provision, send, startCluster } from "./support/cluster.ts";
import { startPostgres } from "./support/postgres.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const REPLICAS = 3;
const REQUESTS = 120;
const CALLERS = 10;

interface Done {
  readonly key: string;
  readonly id: string;
  /** Decisions that a caller received an answer for. */
  readonly answered: readonly ApprovalRequest[];
}

interface People {
  readonly agent: string;
  readonly reviewer: string;
}

/** Submits one request and lets two reviewers and its agent decide it at one time. */
async function decideOne(cluster: Cluster, { agent, reviewer }: People, n: number): Promise<Done> {
  const key = `request ${n}`;
  const body = { ...SUBMISSION, arguments: { n } };
  const opened = await send<ApprovalRequest>(cluster, n, "POST", "/v1/requests", agent, body, key);
  assert.ok(opened.status === 201 || opened.status === 200, opened.text);
  const { id } = opened.json;
  const path = `/review/v1/requests/${id}`;
  const shown = await send<ReviewedRequest>(cluster, n + 1, "GET", path, reviewer);
  const { arguments_sha256 } = shown.json;
  const cast = (verdict: string, from: number) => {
    const call = { verdict, arguments_sha256 };
    return send<ApprovalRequest>(cluster, from, "POST", `${path}/verdict`, reviewer, call);
  };
  const answers = await Promise.all([
    cast("approve", n),
    cast("deny", n + 1),
    send<ApprovalRequest>(cluster, n + 2, "DELETE", `/v1/requests/${id}`, agent),
  ]);
  for (const { status, text } of answers) assert.ok(status === 200 || status === 409, text);
  return {
    key,
    id,
    answered: answers.flatMap(({ status, json }) => (status === 200 ? [json] : [])),
  };
}

test("[ours.operations.crash] killed replicas on a restarted database lose no answered request and decide once", async (t) => {
  const database = await startPostgres();
  t.after(() => database.stop());
  const cluster = await startCluster(t, REPLICAS, { database });
  const { token: agent } = await provision(cluster, await cluster.token("provisioner"));
  const people = { agent, reviewer: await cluster.token("reviewer") };
  const done: Done[] = [];
  let next = 0;
  const work = async () => {
    while (next < REQUESTS) done.push(await decideOne(cluster, people, next++));
  };
  const working = Promise.all(Array.from({ length: CALLERS }, work));

  for (const replica of [0, 1, 2]) {
    const target = ((replica + 1) * REQUESTS) / 5;
    const isDone = () => (done.length >= target ? true : undefined);
    await Promise.race([eventually(`${target} requests are decided`, isDone), working]);
    await cluster.servers[replica]?.kill();
    if (replica === 1) {
      await database.stop();
      await database.start();
    }
    await cluster.start(replica);
  }
  await working;

  assert.equal(done.length, REQUESTS);
  const { store } = cluster;
  const statuses = new Set<RequestStatus>();
  for (const { key, id, answered } of done) {
    const final = await send<ApprovalRequest>(cluster, 0, "GET", `/v1/requests/${id}`, agent);
    for (const { decision } of answered) assert.deepEqual(decision, final.json.decision);
    assert.notEqual(final.json.status, "pending");
    statuses.add(final.json.status);
    const body = { ...SUBMISSION, arguments: final.json.arguments };
    const again = await send<ApprovalRequest>(cluster, 1, "POST", "/v1/requests", agent, body, key);
    assert.deepEqual([again.status, again.json.id], [200, id]);
    const kinds = await store.all("select kind from audit_entry where subject = $1", [
      `request:${id}`,
    ]);
    assert.deepEqual(kinds.map(({ kind }) => kind).sort(), ["request.opened", "request.resolved"]);
  }
  assert.equal((await store.get("select count(*) as n from request"))?.n, REQUESTS);
  assert.ok(statuses.size >= 2, [...statuses].join());
  for (const server of cluster.servers) await server.stop();
});
