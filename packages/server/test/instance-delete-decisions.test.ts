/**
 * Decisions about requests of an instance that is deleted, while they are still pending: its
 * deletion cancels many requests in several transactions, and may stop between two of them.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApprovalRequest, ErrorResponse } from "@countersign/protocol";
import { assertRefused } from "./support/envelope.ts";
import { freeze } from "./support/freezes.ts";
import { deleteHalf } from "./support/half-deleted.ts";
import { submitRequiring } from "./support/requirements.ts";
import { auditOf, type Scene, startScene, storedStatus, untilStored } from "./support/scene.ts";
import { startLongPoll } from "./support/start-long-poll.ts";
import type { Answer, Lifetime, ReviewedRequest } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

/** Two reviewers, and a request of an instance that the deletion leaves pending. */
interface Left extends Scene {
  readonly second: string;
  readonly left: ApprovalRequest;
}

/**
 * @param submit opens the request that is left
 * @param before what happens to it before the deletion
 */
async function startLeft(
  t: Lifetime,
  submit: (scene: Scene) => Promise<ApprovalRequest> = ({ server, instance }) =>
    server.submit(instance.token),
  before: (scene: Left) => Promise<unknown> = async () => {},
): Promise<Left> {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const second = await server.token({ kind: "reviewer", name: "second" });
  const left = await submit(scene);
  const all = { ...scene, second, left };
  await before(all);
  await deleteHalf(server, instance.id);
  return all;
}

async function assertCancelledByDeletion(scene: Left): Promise<void> {
  const { server, reviewer, left } = scene;
  assert.equal(await storedStatus(scene, left.id), "cancelled");
  const path = `/review/v1/requests/${left.id}`;
  const { json } = await server.call<ReviewedRequest>("GET", path, { token: reviewer });
  assert.equal(json.decided_by, "system:instance-deletion");
  const { store } = server.provider.context;
  const sql = "select count(*) as n from notification where request_id = $1";
  assert.equal(Number((await store.get(sql, [left.id]))?.n), 0);
}

function assertAlreadyCancelled(answer: Answer<ErrorResponse>): void {
  assertRefused(answer, 409, "already_terminal");
  assert.match(answer.json.error.message, /already cancelled/);
}

for (const verdict of ["approve", "deny"] as const) {
  test(`[instance.delete.no-decision] a verdict after the deletion cancels the request and returns 409 (${verdict})`, async (t) => {
    const scene = await startLeft(t);
    assertAlreadyCancelled(await scene.server.decide(scene.reviewer, scene.left.id, verdict));
    await assertCancelledByDeletion(scene);
  });
}

test("[instance.delete.no-decision] the last of two votes after the deletion does not approve", async (t) => {
  const scene = await startLeft(
    t,
    (opened) => submitRequiring(opened, { quorum: 2 }),
    ({ server, reviewer, left }) => server.decide(reviewer, left.id, "approve"),
  );
  assertAlreadyCancelled(await scene.server.decide(scene.second, scene.left.id, "approve"));
  await assertCancelledByDeletion(scene);
});

test("[instance.delete.no-decision] a first vote after the deletion is not kept", async (t) => {
  const scene = await startLeft(t, (opened) => submitRequiring(opened, { quorum: 2 }));
  assertAlreadyCancelled(await scene.server.decide(scene.second, scene.left.id, "approve"));
  await assertCancelledByDeletion(scene);
  const { store } = scene.server.provider.context;
  assert.equal(Number((await store.get("select count(*) as n from vote"))?.n), 0);
});

test("[instance.delete.no-decision] a delayed approval that is due after the deletion lapses", async (t) => {
  const scene = await startLeft(t, undefined, ({ server, reviewer, left }) =>
    server.decide(reviewer, left.id, "approve", { hold: "5s" }),
  );
  const { left, clock } = scene;
  clock.advance(5_000);
  await untilStored(scene, left.id, "cancelled");
  await assertCancelledByDeletion(scene);
  // The deletion may cancel the request before the verdict is applied.
  const lapses = async () =>
    (await auditOf(scene, `request:${left.id}`)).filter(({ kind }) => kind === "verdict.lapsed");
  await until(async () => {
    // A worker that sets its timer late needs another turn of the clock.
    clock.advance(0);
    return (await lapses()).length > 0;
  }, "the verdict lapses");
  assert.deepEqual(
    (await lapses()).map(({ detail }) => [detail.reason, detail.status]),
    [["already_terminal", "cancelled"]],
  );
});

test("[instance.delete.no-decision] a delayed approval is not accepted after the deletion", async (t) => {
  const scene = await startLeft(t);
  const { server, reviewer, left } = scene;
  assertAlreadyCancelled(await server.decide(reviewer, left.id, "approve", { hold: "5s" }));
  await assertCancelledByDeletion(scene);
});

test("[instance.delete.no-decision] a freeze after the deletion cancels and does not deny", async (t) => {
  const scene = await startLeft(t);
  assert.equal((await freeze(scene.server, scene.reviewer, { scope: "project" })).status, 201);
  await assertCancelledByDeletion(scene);
});

test("[instance.delete.no-decision] a request with a deadline after the deletion becomes cancelled", async (t) => {
  const scene = await startLeft(t, ({ server, instance }) =>
    server.submit(instance.token, { timeout: "3s" }),
  );
  scene.clock.advance(3_000);
  await untilStored(scene, scene.left.id, "cancelled");
  await assertCancelledByDeletion(scene);
});

test("[instance.delete.no-decision] withdrawing a vote after the deletion returns 409", async (t) => {
  const scene = await startLeft(
    t,
    (opened) => submitRequiring(opened, { quorum: 2 }),
    ({ server, reviewer, left }) => server.decide(reviewer, left.id, "approve"),
  );
  const { server, reviewer, left } = scene;
  const path = `/review/v1/requests/${left.id}/vote`;
  const answer = await server.call<ErrorResponse>("DELETE", path, { token: reviewer });
  assertAlreadyCancelled(answer);
  await assertCancelledByDeletion(scene);
});

test("[instance.delete.pending-cancelled] another replica finishes a deletion that stopped between two transactions", async (t) => {
  const scene = await startScene(t);
  const { server, clock, instance, reviewer } = scene;
  const requests: ApprovalRequest[] = [];
  for (const _ of [1, 2, 3]) requests.push(await server.submit(instance.token));
  await deleteHalf(server, instance.id, 1);
  const statuses = async () => {
    return Promise.all(requests.map(({ id }) => storedStatus(scene, id)));
  };
  assert.deepEqual((await statuses()).toSorted(), ["cancelled", "pending", "pending"]);
  for (const { id } of requests.slice(0, 2)) {
    assertAlreadyCancelled(await server.decide(reviewer, id, "approve"));
  }
  clock.advance(10 * 60_000);
  await until(
    async () => (await statuses()).every((status) => status === "cancelled"),
    "the retention worker finishes the deletion",
  );
});

test("[ours.poll.credential-rechecked] a long poll of a deleted instance returns 401 when it ends", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  const { id } = await server.submit(instance.token);
  const polls = [
    await startLongPoll(server, instance.token, id),
    await startLongPoll(server, instance.token, id),
  ];
  const call = { token: instance.provisioner };
  assert.equal((await server.call("DELETE", `/v1/instances/${instance.id}`, call)).status, 204);
  for (const { answer } of polls) assertRefused(await answer, 401, "invalid_credential");
});

test("[ours.poll.credential-rechecked] a poll held during a revocation returns 401 instead of the approval", async (t) => {
  const scene = await startScene(t);
  const { server, instance, reviewer } = scene;
  const { id } = await server.submit(instance.token);
  const { answer } = await startLongPoll(server, instance.token, id);
  const { store, clock } = server.provider.context;
  await store.transact((tx) =>
    tx.run("update credential set revoked_at = $2 where holder_id = $1", [
      instance.id,
      clock.now(),
    ]),
  );
  assert.equal((await server.decide(reviewer, id, "approve")).status, 200);
  assertRefused(await answer, 401, "invalid_credential");
});
