/**
 * A reviewer is removed while a call is being answered in their name, on another connection to
 * PostgreSQL: once the removal is answered, nothing more is approved by them.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { makeGrant } from "./support/grants.ts";
import { callAs, newPerson } from "./support/people.ts";
import { startReplicas } from "./support/replicas.ts";
import { peopleOf } from "./support/reviewers.ts";
import { submitBody } from "./support/scene.ts";
import { type ReviewedRequest, SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

async function connect(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  return client;
}

const WAITING = `select count(*) as n from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

/** Two replicas on a database, a user who holds things in it, and `boss`, who removes people. */
async function startHeld(t: TestContext) {
  const { servers, url } = await startReplicas(t, 2);
  const [server, other] = servers as [TestProvider, TestProvider];
  const [holder, watcher] = [await connect(t, url), await connect(t, url)];
  const waiting = async () => Number((await watcher.query(WAITING)).rows[0].n);
  const admin = await server.token({ kind: "reviewer", name: "boss", role: "admin" });
  const people = peopleOf({ server });

  /**
   * Lets the other replica remove `ana` while an exchange waits for what is held.
   *
   * @returns the answer of the exchange, and whether the removal was answered before
   */
  async function removeDuring<A>(exchange: Promise<A>) {
    await until(async () => (await waiting()) === 1, "the exchange waits");
    let isAnswered = false;
    const path = `/review/v1/reviewers/${await people.idOf("ana")}`;
    const removal = other.call("DELETE", path, { token: admin }).finally(() => {
      isAnswered = true;
    });
    await until(async () => isAnswered || (await waiting()) === 2, "the removal waits or is over");
    const wasAnswered = isAnswered;
    await holder.query("commit");
    const answer = await exchange;
    assert.equal((await removal).status, 204);
    return { answer, wasAnswered };
  }

  /** No decision approves after the removal was answered. */
  async function removeBeside(decision: Promise<{ readonly json: { readonly status: string } }>) {
    const { answer, wasAnswered } = await removeDuring(decision);
    const isLate = wasAnswered && answer.json.status === "approved";
    assert.equal(isLate, false, "approved behind the removal");
  }

  return { server, other, holder, people, removeBeside, removeDuring };
}

test("[ours.people.removed] [ours.grant.authority] after a removal was answered, no call that was under way is approved by a grant of theirs", async (t) => {
  const { server, other, holder, people, removeBeside } = await startHeld(t);
  const ana = await people.token("ana");
  const instance = await server.instance();
  const { tool } = SUBMISSION;
  const grant = await makeGrant(server, ana, { instance_id: instance.id, tool, calls: 9 });
  // As another call that the grant answers, and whose commit takes its time.
  await holder.query("begin");
  await holder.query("select id from call_grant where id = $1 for update", [grant.id]);
  await removeBeside(submitBody(server, instance.token, SUBMISSION, randomUUID()));
  const next = await submitBody(other, instance.token, SUBMISSION, randomUUID());
  assert.equal(next.json.status, "pending");
});

test("[ours.people.removed] after a removal was answered, no approval of theirs that was under way is recorded, also without a token", async (t) => {
  const { server, holder, removeBeside } = await startHeld(t);
  const ana = await newPerson(server, { login: "ana" });
  const instance = await server.instance();
  const { id } = await server.submit(instance.token);
  const shown = await callAs<ReviewedRequest>(server, ana, "GET", `/requests/${id}`);
  const { arguments_sha256 } = shown.json;
  // As where an index is made, for which the writing of a notification waits.
  await holder.query(
    `insert into receiver
       (project_id, instance_id, url, registration_id, encrypted_secret, verified_at)
     select project_id, id, 'https://192.0.2.1/', $2, '', 0 from instance where id = $1`,
    [instance.id, randomUUID()],
  );
  await holder.query("begin");
  await holder.query("lock table notification in share mode");
  const body = { verdict: "approve", arguments_sha256 };
  const path = `/requests/${id}/verdict`;
  await removeBeside(callAs<ReviewedRequest>(server, ana, "POST", path, { body }));
});

test("[ours.claim.handed] after a removal was answered, no claim is handed over to the removed reviewer", async (t) => {
  const { server, holder, people, removeDuring } = await startHeld(t);
  await people.token("ana");
  const receiver = await people.idOf("ana");
  const ben = await newPerson(server, { login: "ben" });
  const instance = await server.instance();
  const { id } = await server.submit(instance.token);
  const path = `/requests/${id}/claim`;
  assert.equal((await callAs(server, ben, "POST", path, { body: {} })).status, 200);
  await holder.query("begin");
  await holder.query("lock table request_claim in share mode");
  const body = { reviewer_id: receiver };
  const { answer, wasAnswered } = await removeDuring(
    callAs<{ handed_over: boolean }>(server, ben, "POST", `${path}/hand-over`, { body }),
  );
  assert.deepEqual([answer.json.handed_over, wasAnswered], [true, false]);
});
