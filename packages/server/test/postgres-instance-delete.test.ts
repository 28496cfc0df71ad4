/**
 * Deletion of an instance by one PostgreSQL transaction against decisions by another one, in both
 * orders. Row locks order them: a READ COMMITTED read alone would not see the other transaction.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { assertRefused } from "./support/envelope.ts";
import { startReplicas } from "./support/replicas.ts";
import { submitRequiring } from "./support/requirements.ts";
import { SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

interface Scene {
  readonly server: TestProvider;
  readonly reviewer: string;
  readonly instance: { readonly id: string; readonly token: string; readonly provisioner: string };
  /** A connection of another replica, in a transaction. */
  readonly other: Client;
  /** Resolves when a transaction waits for a row that `other` holds. */
  untilBlocked(): Promise<void>;
}

async function startScene(t: TestContext): Promise<Scene> {
  const { servers, url } = await startReplicas(t, 1);
  const [server] = servers as readonly [TestProvider];
  const reviewer = await server.token({ kind: "reviewer" });
  const instance = await server.instance();
  const other = new Client({ connectionString: url });
  await other.connect();
  t.after(() => other.end());
  const { rows } = await other.query("select pg_backend_pid() as pid");
  const waiting = "select 1 from pg_stat_activity where $1 = any(pg_blocking_pids(pid))";
  const untilBlocked = () =>
    until(async () => (await other.query(waiting, [rows[0].pid])).rows.length > 0, "one waits");
  return { server, reviewer, instance, other, untilBlocked };
}

const MARK = "update instance set deleted_at = $2 where id = $1";

for (const verdict of ["approve", "deny"] as const) {
  test(`[instance.delete.no-decision] a verdict waits for a deletion that has begun, and does not decide (${verdict})`, async (t) => {
    const { server, reviewer, instance, other, untilBlocked } = await startScene(t);
    const { id } = await server.submit(instance.token);
    await other.query("begin");
    await other.query(MARK, [instance.id, 1]);
    const verdictSent = server.decide(reviewer, id, verdict);
    await untilBlocked();
    await other.query("commit");
    assertRefused(await verdictSent, 409, "already_terminal");
    const { rows } = await other.query("select status, decided_by from request");
    assert.deepEqual(rows, [{ status: "cancelled", decided_by: "system:instance-deletion" }]);
  });
}

test("[instance.delete.no-decision] the last of two votes waits for a deletion that has begun, and does not approve", async (t) => {
  const { server, reviewer, instance, other, untilBlocked } = await startScene(t);
  const { id } = await submitRequiring({ server, instance }, { quorum: 2 });
  assert.equal((await server.decide(reviewer, id, "approve")).status, 200);
  const second = await server.token({ kind: "reviewer", name: "second" });
  await other.query("begin");
  await other.query(MARK, [instance.id, 1]);
  const vote = server.decide(second, id, "approve");
  await untilBlocked();
  await other.query("commit");
  assertRefused(await vote, 409, "already_terminal");
});

test("[instance.delete.no-decision] a submission during a deletion waits for it, and is rejected", async (t) => {
  const { server, instance, other, untilBlocked } = await startScene(t);
  await other.query("begin");
  await other.query(MARK, [instance.id, 1]);
  const call = { token: instance.token, key: server.freshKey(), body: SUBMISSION };
  const submission = server.call("POST", "/v1/requests", call);
  await untilBlocked();
  await other.query("commit");
  assertRefused(await submission, 401, "invalid_credential");
  assert.deepEqual((await other.query("select id from request")).rows, []);
});

test("[instance.delete.serialised] a deletion waits for a verdict that has begun, and keeps its decision", async (t) => {
  const { server, reviewer, instance, other, untilBlocked } = await startScene(t);
  const { id } = await server.submit(instance.token);
  // The verdict locks its reviewer behind the instance and the request, so this stops it there.
  await other.query("begin");
  await other.query("select id from reviewer for update");
  const verdict = server.decide(reviewer, id, "approve");
  await untilBlocked();
  const deleting = server.call("DELETE", `/v1/instances/${instance.id}`, {
    token: instance.provisioner,
  });
  const blocked = `select count(*)::int as n from pg_stat_activity
    where cardinality(pg_blocking_pids(pid)) > 0`;
  await until(async () => (await other.query(blocked)).rows[0].n === 2, "the deletion waits too");
  await other.query("commit");
  assert.equal((await verdict).status, 200);
  assert.equal((await deleting).status, 204);
  const { rows } = await other.query(
    "select status, decided_at <= deleted_at as before from request, instance",
  );
  assert.deepEqual(rows, [{ status: "approved", before: true }]);
});
