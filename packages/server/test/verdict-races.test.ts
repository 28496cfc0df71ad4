/**
 * Votes, a veto and the deadline of one request at one moment, on one server.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ErrorResponse } from "@countersign/protocol";
import fc from "fast-check";
import { assertRefused } from "./support/envelope.ts";
import { submitRequiring } from "./support/requirements.ts";
import { auditOf, startScene } from "./support/scene.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";

const scene = await startScene({ after });
const { server, clock } = scene;
const { store } = server.provider.context;

const [ana, ben, cleo, dan] = await Promise.all([
  server.token({ kind: "reviewer", name: "ana" }),
  server.token({ kind: "reviewer", name: "ben" }),
  server.token({ kind: "reviewer", name: "cleo" }),
  server.token({ kind: "reviewer", name: "dan" }),
]);

const tokens = { ana, ben, cleo };

type Reviewed = ReviewedRequest & ErrorResponse;

async function show(id: string): Promise<Reviewed> {
  return (await server.call<Reviewed>("GET", `/review/v1/requests/${id}`, { token: dan })).json;
}

async function voteRows(id: string): Promise<number> {
  const row = await store.get("select count(*) as n from vote where request_id = $1", [id]);
  return Number(row?.n);
}

type Move = "ana" | "ben" | "cleo" | "deny" | "expire";

/** Everything at one moment; @returns how the request ended, or that it did not */
async function playRound(moves: readonly (readonly [Move, number])[]): Promise<string> {
  const request = await submitRequiring(scene, { quorum: 2 });
  const { id, deadline_at } = request;
  const { arguments_sha256 } = await show(id);
  const path = `/review/v1/requests/${id}/verdict`;
  const cast = (token: string, verdict: string) =>
    server.call<Reviewed>("POST", path, { token, body: { verdict, arguments_sha256 } });
  const answers = await Promise.all(
    moves.map(async ([move, late]) => {
      await turns(late);
      if (move === "deny") return [move, await cast(dan, "deny")] as const;
      if (move !== "expire") return [move, await cast(tokens[move], "approve")] as const;
      clock.advance(Date.parse(deadline_at) - clock.now());
      return [move, undefined] as const;
    }),
  );
  const final = await show(id);
  for (const [move, answer] of answers) {
    if (answer === undefined) continue;
    const what = `${move} got ${answer.text}, final is ${final.status}`;
    if (answer.status !== 200) assertRefused(answer, 409, "already_terminal");
    else if (move === "deny") assert.equal(final.status, "denied", what);
    // A vote was kept, and the answer has the status of the request after it.
    else if (answer.json.status !== "pending") assert.equal(answer.json.status, final.status, what);
  }
  const rows = await auditOf(scene, `request:${id}`);
  const votes = rows.filter(({ kind }) => kind === "vote.cast");
  assert.equal(votes.length, await voteRows(id));
  if (final.status === "approved") {
    assert.equal(votes.length, 2);
    assert.deepEqual(
      rows.at(-1)?.detail.voters,
      votes.map(({ actor }) => actor.slice(9)),
    );
  } else assert.ok(votes.length <= 1, `${votes.length} votes, and ${final.status}`);
  const ends = rows.filter(({ kind }) => kind === "request.resolved").length;
  assert.equal(ends, final.status === "pending" ? 0 : 1);
  return final.status;
}

test("[ours.verdict.race] concurrent votes, a denial and the deadline have one outcome, with no fewer people than the rule requires", async () => {
  const outcomes = new Set<string>();
  const all: readonly Move[] = ["ana", "ben", "cleo", "deny", "expire"];
  const moves = fc.shuffledSubarray([...all], { minLength: 2 });
  const late = fc.array(fc.nat(30), { minLength: 5, maxLength: 5 });
  const property = fc.asyncProperty(moves, late, async (order, delays) => {
    outcomes.add(await playRound(order.map((move, i) => [move, delays[i] ?? 0])));
  });
  await fc.assert(property, { numRuns: 60, endOnFailure: true });
  assert.ok(outcomes.size >= 3, `only ${[...outcomes].join()} were met`);
});

test("[ours.verdict.race] two approvers of a quorum of two at one moment approve it once", async () => {
  for (let round = 0; round < 20; round++) {
    assert.equal(
      await playRound([
        ["ana", 0],
        ["ben", round % 4],
      ]),
      "approved",
    );
  }
});
