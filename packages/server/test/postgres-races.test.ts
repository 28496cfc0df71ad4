/**
 * Three server processes on one PostgreSQL against each other: for many requests at once, all that
 * can end one comes to all of them at one time. Afterwards every answer that was given, what the
 * replicas say and what the database holds must agree on one outcome.
 */

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import type { ApprovalRequest, RequestStatus } from "@countersign/protocol";
import { exchange } from "@countersign/testing/agents";
import { temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import fc from "fast-check";
import { provision, startCluster } from "./support/cluster.ts";
import {
  type Move,
  type MoveAnswer,
  type MoveName,
  type OpenContest,
  openContest,
  type Plan,
  type Players,
  playContest,
  show,
} from "./support/contests.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";
import { startTlsReceiver, type TlsReceiver } from "./support/tls-receiver.ts";
import { answerChallenge, eventOf, typeOf } from "./support/webhook-scene.ts";
import { deliveryTo, trusting } from "./support/webhook-server.ts";

const REPLICAS = 3;
const INSTANCES = 36;
const REQUESTS_PER_INSTANCE = 4;
/** So many that replicas meet, and not so many that all only wait for the machine. */
const INSTANCES_AT_ONCE = 6;

/** How far moves of one contest are apart at most, ms. */
const SPREAD_MS = 80;

const move = (...names: MoveName[]): fc.Arbitrary<Move> =>
  fc.record({
    name: fc.constantFrom(...names),
    replica: fc.nat(REPLICAS - 1),
    late: fc.nat(SPREAD_MS),
  });

/** Each request gets some moves and is watched; every second one around its deadline. */
const PLAN: fc.Arbitrary<Plan> = fc.record({
  beforeDeadline: fc.oneof(fc.constant(null), fc.integer({ min: -10, max: 50 })),
  moves: fc
    .tuple(
      fc.array(move("approve", "deny", "cancel"), { minLength: 3, maxLength: 6 }),
      fc.array(move("replay", "submit", "read", "poll"), { minLength: 2, maxLength: 4 }),
    )
    .map((moves) => moves.flat()),
});

/** The plans for the requests of one instance, which may be deleted meanwhile. */
const PLANS = fc
  .tuple(
    fc.array(PLAN, { minLength: REQUESTS_PER_INSTANCE, maxLength: REQUESTS_PER_INSTANCE }),
    fc.array(move("delete", "submit"), { maxLength: 3 }),
  )
  .map(([[first, ...plans], deletions]) => {
    const { beforeDeadline = null, moves = [] } = first ?? {};
    return [{ beforeDeadline, moves: [...moves, ...deletions] }, ...plans];
  });

interface Ended extends OpenContest {
  readonly answers: readonly MoveAnswer[];
  /** As all replicas show it. */
  readonly final: ReviewedRequest;
  readonly isDeleted: boolean;
}

test("[ours.expire.race] [request.create.concurrent] [instance.delete.serialised] [request.terminal.unchanged] after concurrent calls to three processes, they and the database agree on one outcome for each request", async (t) => {
  const receiver = await startTlsReceiver(t, (received, response) => {
    if (typeOf(received) === "webhook.verification") answerChallenge(received, response);
    else response.writeHead(204).end();
  });
  const cluster = await startCluster(t, REPLICAS, {
    args: ["--webhook-allow-cidrs", "127.0.0.0/8"],
    env: trusting(temporaryFolder(t), receiver),
  });
  const provisioner = await cluster.token("provisioner");
  const players = { cluster, provisioner, reviewer: await cluster.token("reviewer") };
  const seed = randomInt(2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const plans = fc.sample(PLANS, { numRuns: INSTANCES, seed });

  const ended = await playAll(players, plans, receiver);

  for (const one of ended) for (const answer of one.answers) assertAgrees(answer, one);
  await assertRecorded(players, ended);
  await assertNotified(players, ended, receiver);
  // Otherwise this proves little.
  const outcomes = new Set<RequestStatus>(ended.map(({ final }) => final.status));
  assert.deepEqual([...outcomes].sort(), ["approved", "cancelled", "denied", "expired"]);
  for (const server of cluster.servers) await server.stop();
});

async function playAll(
  players: Players,
  plans: readonly (readonly Plan[])[],
  receiver: TlsReceiver,
): Promise<Ended[]> {
  const ended: Ended[] = [];
  const left = [...plans.entries()];
  const play = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, some] = next;
      const delivery = deliveryTo(receiver.url(`/${index}`));
      const instance = await provision(players.cluster, players.provisioner, delivery);
      const opened = await Promise.all(
        some.map((plan, n) => openContest(players, instance, plan, `${index}-${n}`)),
      );
      const played = await Promise.all(opened.map(playContest));
      for (const [n, contest] of opened.entries()) {
        const agreed = await agreement(contest);
        ended.push({ ...contest, answers: played[n] ?? [], ...agreed });
      }
    }
  };
  await Promise.all(Array.from({ length: INSTANCES_AT_ONCE }, play));
  return ended;
}

/** The outcome, which all replicas show to the reviewer and to the agent. */
async function agreement({
  players,
  request,
  instance,
}: OpenContest): Promise<Pick<Ended, "final" | "isDeleted">> {
  const { servers, store } = players.cluster;
  const shown = await Promise.all(servers.map((_, at) => show(players, request.id, at)));
  // All but the time of the answer.
  const texts = shown.map(({ json }) => JSON.stringify({ ...(json as object), now: undefined }));
  assert.equal(new Set(texts).size, 1, "replicas differ");
  const final = shown[0]?.json as ReviewedRequest;
  assert.notEqual(final.status, "pending");
  const sql = "select deleted_at from instance where id = $1";
  const isDeleted = (await store.get(sql, [instance.id]))?.deleted_at !== null;
  for (const { url } of servers) {
    const path = `${url}/v1/requests/${request.id}`;
    const { status, json } = await exchange<ApprovalRequest>("GET", path, instance.token);
    assert.equal(status, isDeleted ? 401 : 200);
    if (!isDeleted) assert.deepEqual(outcomeOf(json), outcomeOf(final));
  }
  return { final, isDeleted };
}

function outcomeOf({ status, decision }: ApprovalRequest): object {
  return { status, decision };
}

const VERDICTS: Readonly<Partial<Record<MoveName, RequestStatus>>> = {
  approve: "approved",
  deny: "denied",
  cancel: "cancelled",
};

/** All callers, earlier and later, received the final outcome. */
function assertAgrees(answer: MoveAnswer, { request, final, isDeleted }: Ended): void {
  const { name, status, json, text } = answer;
  const what = `${name} got ${status} ${text}, final is ${final.status}`;
  const verdict = VERDICTS[name];
  if (name === "delete") assert.equal(status, 204, what);
  else if (name === "submit") assert.ok(status === 201 || (isDeleted && status === 401), what);
  else if (status === 401)
    assert.ok(isDeleted && verdict !== "approved" && verdict !== "denied", what);
  else if (verdict !== undefined) {
    // The same verdict of the same reviewer, again, is answered like the first one.
    assert.equal(status, final.status === verdict ? 200 : 409, what);
    if (status === 409) assert.equal(json.error.code, "already_terminal");
    else assert.deepEqual(outcomeOf(json), outcomeOf(final), what);
  } else {
    assert.deepEqual([status, json.id], [200, request.id], what);
    if (json.status === "pending") assert.notEqual(name, "poll", what);
    else assert.deepEqual(outcomeOf(json), outcomeOf(final), what);
  }
  const isOver = verdict !== undefined || name === "poll" || name === "delete";
  if (isOver && status !== 401) assert.deepEqual(outcomeOf(answer.after.json), outcomeOf(final));
}

/** One decision, in time, with one entry in the audit log that says the same. */
async function assertRecorded({ cluster }: Players, ended: readonly Ended[]): Promise<void> {
  const { store } = cluster;
  for (const { request, final, isDeleted } of ended) {
    const row = await store.get(
      `select status, deadline_at, decided_at, decided_by from request where id = $1`,
      [request.id],
    );
    const { status, deadline_at, decided_at, decided_by } = row ?? {};
    assert.equal(status, final.status);
    assert.equal(Number(decided_at), Date.parse(final.decision?.decided_at ?? ""));
    // A deletion cancels what is overdue as well.
    if (decided_by === "system:instance-deletion") assert.ok(isDeleted);
    else assert.equal(Number(decided_at) >= Number(deadline_at), status === "expired");
    const sql = "select kind, at, actor, detail from audit_entry where subject = $1";
    const entries = await store.all(sql, [`request:${request.id}`]);
    // Its notification may have ended as well.
    const kinds = entries.map(({ kind }) => kind).filter((kind) => kind !== "delivery.ended");
    kinds.sort();
    assert.deepEqual(kinds, ["request.opened", "request.resolved"]);
    const resolved = entries.find(({ kind }) => kind === "request.resolved");
    assert.deepEqual([resolved?.at, resolved?.actor], [decided_at, decided_by]);
    assert.equal(JSON.parse(String(resolved?.detail)).status, status);
  }
  const left = await store.get(
    `select count(*) as n from request join instance on instance.id = request.instance_id
     where request.status = 'pending' and instance.deleted_at is not null`,
  );
  assert.equal(left?.n, 0, "something is pending under a deleted instance");
  const deletions = await store.all("select subject from audit_entry where kind = $1", [
    "instance.deleted",
  ]);
  const deleted = new Set(ended.filter((one) => one.isDeleted).map(({ instance }) => instance.id));
  assert.ok(deleted.size > 0);
  assert.deepEqual(
    deletions.map(({ subject }) => subject).sort(),
    [...deleted].map((id) => `instance:${id}`).sort(),
  );
}

/** One event for each decision, sent once; none for what a deletion ended. */
async function assertNotified(
  { cluster: { store } }: Players,
  ended: readonly Ended[],
  receiver: TlsReceiver,
): Promise<void> {
  await eventually("nothing that waits for delivery", async () => {
    const sql = "select count(*) as n from notification where next_at is not null";
    return (await store.get(sql))?.n === 0 ? true : undefined;
  });
  const received = receiver.requests.filter((one) => typeOf(one) !== "webhook.verification");
  const sent = received.map((one) => eventOf(one));
  assert.equal(new Set(sent.map(({ id }) => id)).size, sent.length, "an event was sent twice");
  for (const { request, isDeleted } of ended) {
    const sql = "select decided_by from request where id = $1";
    const decidedBy = (await store.get(sql, [request.id]))?.decided_by;
    const written = await store.all("select id from notification where request_id = $1", [
      request.id,
    ]);
    const events = sent.filter(({ request_id }) => request_id === request.id);
    if (decidedBy === "system:instance-deletion") assert.equal(written.length, 0);
    if (!isDeleted) assert.equal(written.length, 1);
    assert.ok(events.length <= written.length);
    if (!isDeleted)
      assert.deepEqual(
        events.map(({ id }) => id),
        [written[0]?.id],
      );
  }
}
