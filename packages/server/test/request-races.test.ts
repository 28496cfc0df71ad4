import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ApprovalRequest, RequestStatus } from "@countersign/protocol";
import fc from "fast-check";
import {
  auditOf,
  cancel,
  countRequests,
  type Scene,
  startScene,
  submitBody,
} from "./support/scene.ts";
import { startLongPoll } from "./support/start-long-poll.ts";
import { type Answer, type ReviewedRequest, SUBMISSION } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock, reviewer } = scene;

interface Contest extends Scene {
  readonly request: ApprovalRequest;
  readonly key: string;
  readonly digest: string;
}

/** A pending request of an instance of its own. */
async function openContest(): Promise<Contest> {
  const instance = await server.instance();
  const key = server.freshKey();
  const { json: request } = await submitBody(server, instance.token, SUBMISSION, key);
  const shown = await server.call<ReviewedRequest>("GET", `/review/v1/requests/${request.id}`, {
    token: reviewer,
  });
  return { ...scene, instance, request, key, digest: shown.json.arguments_sha256 };
}

function castVerdict({ request, digest }: Contest, verdict: "approve" | "deny"): Promise<Answer> {
  const body = { verdict, arguments_sha256: digest, note: verdict };
  const path = `/review/v1/requests/${request.id}/verdict`;
  return server.call("POST", path, { token: reviewer, body });
}

/** The operations that can end a pending request, each with the status of its success. */
const MOVES: Readonly<
  Record<
    string,
    {
      readonly wins: RequestStatus;
      readonly make: (contest: Contest) => Promise<Answer | undefined>;
    }
  >
> = {
  approve: { wins: "approved", make: (contest) => castVerdict(contest, "approve") },
  deny: { wins: "denied", make: (contest) => castVerdict(contest, "deny") },
  cancel: {
    wins: "cancelled",
    make: ({ instance, request }) => cancel(server, instance.token, request.id),
  },
  expire: {
    wins: "expired",
    make: async ({ request }) => {
      clock.advance(Date.parse(request.deadline_at) - clock.now());
      return undefined;
    },
  },
  delete: {
    wins: "cancelled",
    make: ({ instance }) =>
      server.call("DELETE", `/v1/instances/${instance.id}`, { token: instance.provisioner }),
  },
};

/** How a move is answered when it won, when it lost, and when the credential was gone before. */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  approve: [200, 409],
  deny: [200, 409],
  cancel: [200, 409, 401],
  delete: [204],
  read: [200, 401],
  poll: [200, 401],
  replay: [200, 401],
};

async function shown({ request }: Contest): Promise<Answer<ReviewedRequest>> {
  const path = `/review/v1/requests/${request.id}`;
  return server.call<ReviewedRequest>("GET", path, { token: reviewer });
}

/** All but the time of the answer. */
function withoutNow({ json: { now: _, ...rest } }: Answer<ReviewedRequest>): object {
  return rest;
}

function assertAnswered(name: string, answer: Answer | undefined): void {
  if (answer === undefined) return;
  assert.ok(STATUSES[name]?.includes(answer.status), `${name} got ${answer.status}`);
}

/** Every reported decision is the final one; a rejected call changed nothing. */
function assertAgrees(name: string, answer: Answer | undefined, final: ReviewedRequest): void {
  if (answer === undefined || answer.status !== 200) return;
  const { status, decision } = answer.json as ApprovalRequest;
  if (status === "pending") {
    assert.ok(name === "read" || name === "replay", name);
    return;
  }
  assert.deepEqual({ status, decision }, { status: final.status, decision: final.decision }, name);
}

/** A move and how many event loop iterations it comes late. */
type Turn = readonly [name: string, late: number];

async function playRound(moves: readonly Turn[]): Promise<RequestStatus> {
  const names = moves.map(([name]) => name);
  const contest = await openContest();
  const { instance, request, key } = contest;
  const polls = [await startLongPoll(server, instance.token, request.id)];
  polls.push(await startLongPoll(server, instance.token, request.id));
  const answers = await Promise.all([
    ...moves.map(async ([name, late]) => {
      await turns(late);
      return [name, await MOVES[name]?.make(contest)] as const;
    }),
    server.call("GET", `/v1/requests/${request.id}`, { token: instance.token }).then(named("read")),
    submitBody(server, instance.token, SUBMISSION, key).then(named("replay")),
  ]);
  const held = await Promise.all(polls.map(({ answer }) => answer.then(named("poll"))));

  const final = await shown(contest);
  assert.notEqual(final.json.status, "pending");
  const possible = names.map((name) => MOVES[name]?.wins);
  assert.ok(possible.includes(final.json.status), `${final.json.status} by ${names.join()}`);
  for (const [name, answer] of [...answers, ...held]) {
    assertAnswered(name, answer);
    assertAgrees(name, answer, final.json);
  }
  const kinds = (await auditOf(scene, `request:${request.id}`)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["request.opened", "request.resolved"]);
  for (const name of names) await MOVES[name]?.make(contest);
  clock.advance(1_000);
  await turns();
  assert.deepEqual(withoutNow(await shown(contest)), withoutNow(final));
  return final.json.status;
}

function named(name: string): (answer: Answer) => readonly [string, Answer] {
  return (answer) => [name, answer] as const;
}

test("[ours.expire.race] [request.one-outcome] [request.terminal.unchanged] concurrent verdict, cancellation, expiry and deletion: exactly one wins and all readers see it", async () => {
  const outcomes = new Set<RequestStatus>();
  const late = fc.array(fc.nat(40), { minLength: 5, maxLength: 5 });
  const names = fc.shuffledSubarray(Object.keys(MOVES), { minLength: 2 });
  const property = fc.asyncProperty(names, late, async (order, delays) => {
    outcomes.add(await playRound(order.map((name, i) => [name, delays[i] ?? 0])));
  });
  await fc.assert(property, { numRuns: 60, endOnFailure: true });
  assert.ok(outcomes.size >= 3, `only ${[...outcomes].join()} were met`);
});

test("[ours.expire.race] of concurrent verdicts exactly one is recorded", async () => {
  for (let round = 0; round < 10; round++) {
    const contest = await openContest();
    const reviewers = await Promise.all(
      ["a", "b", "c", "d", "e", "f"].map((name) => server.token({ kind: "reviewer", name })),
    );
    const verdicts = await Promise.all(
      reviewers.map((token, i) => {
        const verdict = i % 2 === 0 ? "approve" : "deny";
        const body = { verdict, arguments_sha256: contest.digest, note: `by ${i}` };
        const path = `/review/v1/requests/${contest.request.id}/verdict`;
        return server.call<ReviewedRequest>("POST", path, { token, body });
      }),
    );
    const won = verdicts.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    assert.equal(verdicts.filter(({ status }) => status === 409).length, 5);
    assert.deepEqual(withoutNow(await shown(contest)), won[0]?.json);
  }
});

test("[request.create.concurrent] 50 parallel equal submissions give one 201, otherwise 200, and one id", async () => {
  for (let round = 0; round < 5; round++) {
    const before = await countRequests(scene);
    const key = server.freshKey();
    const { token } = scene.instance;
    const spellings = ['{"n":1}', '{ "n" : 1.0 }', '{"\\u006e":10e-1}'];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => {
        const body = `{"tool":"t","timeout":"1h","arguments":${spellings[i % 3]}}`;
        return submitBody(server, token, body, key);
      }),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...new Array(49).fill(200), 201]);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.equal(await countRequests(scene), before + 1);
  }
});

test("[request.create.concurrent] [request.create.conflict] of concurrent unequal submissions one wins and the others return a conflict", async () => {
  for (let round = 0; round < 5; round++) {
    const before = await countRequests(scene);
    const key = server.freshKey();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => {
        const body = { ...SUBMISSION, arguments: { n: n % 10 } };
        return submitBody(server, scene.instance.token, body, key);
      }),
    );
    const created = answers.filter(({ status }) => status === 201);
    assert.equal(created.length, 1);
    assert.equal(answers.filter(({ status }) => status === 200).length, 2);
    assert.equal(answers.filter(({ status }) => status === 409).length, 27);
    const replays = answers.filter(({ status }) => status === 200);
    for (const replay of replays) assert.equal(replay.text, created[0]?.text);
    assert.equal(await countRequests(scene), before + 1);
  }
});

test("[instance.delete.serialised] submissions during the deletion of their instance leave nothing pending", async () => {
  const { store } = server.provider.context;
  const statuses = new Set<number>();
  for (let round = 0; round < 15; round++) {
    const instance = await server.instance();
    const deletion = { token: instance.provisioner };
    const submissions = Array.from({ length: 20 }, async (_, i) => {
      await turns(i % 4);
      return submitBody(server, instance.token, SUBMISSION);
    });
    const [deleted, ...answers] = await Promise.all([
      turns(round % 5).then(() => server.call("DELETE", `/v1/instances/${instance.id}`, deletion)),
      ...submissions,
    ]);
    assert.equal(deleted.status, 204);
    for (const { status } of answers) {
      assert.ok(status === 201 || status === 401, `a submission got ${status}`);
      statuses.add(status);
    }
    const sql = "select status, count(*) as n from request where instance_id = $1 group by status";
    const rows = await store.all(sql, [instance.id]);
    const created = answers.filter(({ status }) => status === 201).length;
    const expected = created === 0 ? [] : [{ status: "cancelled", n: created }];
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      expected,
    );
    assert.equal((await submitBody(server, instance.token, SUBMISSION)).status, 401);
  }
  assert.ok(statuses.has(201), "no submission was first");
});
