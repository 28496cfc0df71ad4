/**
 * Several people decide one request through several server processes on one PostgreSQL, at one
 * time and around its deadline.
 */

import assert from "node:assert/strict";
import { randomInt, randomUUID } from "node:crypto";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApprovalRequest, ErrorResponse } from "@countersign/protocol";
import { type Answer, exchange, SUBMISSION } from "@countersign/testing/agents";
import fc from "fast-check";
import { systemClock } from "../src/index.ts";
import { type Cluster, type ClusterInstance, provision, startCluster } from "./support/cluster.ts";
import { require } from "./support/requirements.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const REPLICAS = 2;
const ROUNDS = 60;
const AT_ONCE = 6;
const REVIEWERS = 3;

interface Move {
  readonly verdict: "approve" | "deny";
  readonly reviewer: number;
  readonly replica: number;
  /** After the first moment, ms. */
  readonly late: number;
}

interface Plan {
  /** How long before the deadline it begins, ms; null when that is far away. */
  readonly beforeDeadline: number | null;
  readonly moves: readonly Move[];
}

const MOVE: fc.Arbitrary<Move> = fc.record({
  verdict: fc.constantFrom("approve", "approve", "approve", "approve", "deny"),
  reviewer: fc.nat(REVIEWERS - 1),
  replica: fc.nat(REPLICAS - 1),
  late: fc.nat(30),
});

const PLAN: fc.Arbitrary<Plan> = fc.record({
  beforeDeadline: fc.oneof(fc.constant(null), fc.integer({ min: -10, max: 40 })),
  moves: fc.array(MOVE, { minLength: 2, maxLength: 6 }),
});

interface Scene {
  readonly cluster: Cluster;
  readonly instance: ClusterInstance;
  readonly reviewers: readonly string[];
}

type Reviewed = ReviewedRequest & ErrorResponse;

/** @returns the final state of the request */
async function play({ cluster, instance, reviewers }: Scene, plan: Plan): Promise<string> {
  const { servers, store } = cluster;
  const urlOf = (replica: number, path: string) => `${servers[replica]?.url}${path}`;
  const body = { ...SUBMISSION, timeout: plan.beforeDeadline === null ? "1h" : "1s" };
  const opened = await exchange<ApprovalRequest>(
    "POST",
    urlOf(0, "/v1/requests"),
    instance.token,
    body,
    randomUUID(),
  );
  const { id, deadline_at } = opened.json;
  await require(store, id, { quorum: 2 });
  const path = `/review/v1/requests/${id}`;
  const show = (replica: number) =>
    exchange<Reviewed>("GET", urlOf(replica, path), reviewers[replica]);
  const { arguments_sha256 } = (await show(0)).json;
  const start = plan.beforeDeadline === null ? 0 : Date.parse(deadline_at) - plan.beforeDeadline;
  const cast = async ({ verdict, reviewer, replica, late }: Move): Promise<Answer<Reviewed>> => {
    await sleep(Math.max(0, start - systemClock.now()) + late);
    const url = urlOf(replica, `${path}/verdict`);
    return exchange("POST", url, reviewers[reviewer], { verdict, arguments_sha256 });
  };
  const answers = await Promise.all(
    plan.moves.map(async (move) => [move, await cast(move)] as const),
  );
  if (plan.beforeDeadline !== null) {
    // A request that is not decided by then expires at its next read.
    await sleep(Math.max(0, Date.parse(deadline_at) - systemClock.now()) + 1);
  }
  const [final, other] = [(await show(0)).json, (await show(1)).json];
  const outcome = ({ status, decision, votes }: Reviewed) => ({ status, decision, votes });
  assert.deepEqual(outcome(other), outcome(final), "replicas differ");

  for (const [move, { status, json, text }] of answers) {
    const what = `${move.verdict} got ${status} ${text}, final is ${final.status}`;
    if (status === 409) assert.equal(json.error.code, "already_terminal", what);
    else if (move.verdict === "deny")
      assert.deepEqual([status, final.status], [200, "denied"], what);
    else if (json.status === "pending") assert.equal(status, 200, what);
    else assert.deepEqual([status, json.status], [200, final.status], what);
  }
  await assertRecorded(cluster, id, final);
  return final.status;
}

/** The database holds the one outcome, with as many votes as the quorum requires. */
async function assertRecorded(
  { store }: Cluster,
  id: string,
  { status, decision, votes }: Reviewed,
): Promise<void> {
  const sql = "select kind, actor, detail from audit_entry where subject = $1";
  const entries = await store.all(sql, [`request:${id}`]);
  const actors = entries.filter(({ kind }) => kind === "vote.cast").map(({ actor }) => actor);
  assert.equal(actors.length, votes.length);
  assert.equal(new Set(actors).size, actors.length, "a reviewer voted twice");
  const resolved = entries.filter(({ kind }) => kind === "request.resolved");
  assert.equal(resolved.length, status === "pending" ? 0 : 1);
  if (status !== "approved") return assert.ok(votes.length < 2, `${status} with enough votes`);
  const { voters } = JSON.parse(String(resolved[0]?.detail)) as { voters: string[] };
  assert.deepEqual(voters.map((voter) => `reviewer:${voter}`).sort(), actors.map(String).sort());
  assert.equal(voters.length, 2);
  const row = await store.get("select deadline_at from request where id = $1", [id]);
  assert.ok(Date.parse(decision?.decided_at ?? "") < Number(row?.deadline_at), "approved too late");
}

test("[ours.verdict.race] [ours.verdict.quorum] votes, vetoes and the deadline at several processes at one time end each request once, on no fewer people than the rule asks for", async (t) => {
  const cluster = await startCluster(t, REPLICAS);
  const instance = await provision(cluster, await cluster.token("provisioner"));
  const tokens = Array.from({ length: REVIEWERS }, () => cluster.token("reviewer"));
  const scene = { cluster, instance, reviewers: await Promise.all(tokens) };
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const left = fc.sample(PLAN, { numRuns: ROUNDS, seed });
  const outcomes = new Set<string>();
  const playOn = async () => {
    for (let plan = left.shift(); plan !== undefined; plan = left.shift()) {
      outcomes.add(await play(scene, plan));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, playOn));
  // Otherwise this proves little.
  for (const status of ["approved", "denied", "expired"]) {
    assert.ok(outcomes.has(status), `nothing was ${status}`);
  }
});
