/**
 * Replicas on one PostgreSQL, with the database's clock.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { Client } from "pg";
import { Failure, systemClock } from "../src/index.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { createDatabase, startPostgres } from "./support/postgres.ts";
import { startReplicas } from "./support/replicas.ts";
import { auditOf, cancel, submitBody } from "./support/scene.ts";
import { startLongPoll } from "./support/start-long-poll.ts";
import {
  type Answer,
  SUBMISSION,
  startTestProvider,
  type TestProvider,
} from "./support/test-provider.ts";
import { until } from "./support/until.ts";

const { servers, settings, url } = await startReplicas({ after }, 2);
const [here, there] = servers as [TestProvider, TestProvider];
const reviewer = await here.token({ kind: "reviewer" });

test("[ours.poll.woken] a poll that one replica holds is answered when another decides, in about a second", async () => {
  const { token } = await here.instance();
  for (const verdict of ["approve", "deny"] as const) {
    const { id } = await here.submit(token);
    const { answer } = await startLongPoll(here, token, id);
    const decided = await there.decide(reviewer, id, verdict);
    assert.equal(decided.status, 200, decided.text);
    const from = performance.now();
    const { json } = await answer;
    assert.equal(json.status, decided.json.status);
    assert.deepEqual(json, await there.read(token, id));
    assert.ok(performance.now() - from < 3_000, "it took much longer than a second");
  }
});

test("[ours.poll.woken] a poll also receives an expiry and a cancellation at another replica", async () => {
  const { token } = await here.instance();
  const cancelled = await here.submit(token);
  const expiring = await there.submit(token, { timeout: "1s" });
  const polls = [cancelled, expiring].map(({ id }) => startLongPoll(here, token, id));
  const [first, second] = await Promise.all(polls);
  assert.equal((await cancel(there, token, cancelled.id)).status, 200);
  assert.equal((await first?.answer)?.json.status, "cancelled");
  assert.equal((await second?.answer)?.json.status, "expired");
});

test("[request.create.concurrent] one key sent to all replicas at one time creates one request", async () => {
  const { token } = await here.instance();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      submitBody(servers[i % 2] as TestProvider, token, SUBMISSION, "shared"),
    ),
  );
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array(19).fill(200), 201]);
  assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1);
  const subject = `request:${answers[0]?.json.id}`;
  assert.deepEqual(
    (await auditOf({ server: here }, subject)).map(({ kind }) => kind),
    ["request.opened"],
  );
});

test("[ours.expire.race] of verdicts, a cancellation and the deadline at all replicas exactly one wins", async () => {
  const { token } = await here.instance();
  for (let round = 0; round < 10; round++) {
    const isLate = round % 5 === 4;
    const { id, deadline_at } = await here.submit(token, { timeout: isLate ? "1s" : "1h" });
    const deadline = Date.parse(deadline_at);
    if (isLate) await until(() => systemClock.now() > deadline, "the deadline");
    const answers = await Promise.all([
      here.decide(reviewer, id, "approve"),
      there.decide(reviewer, id, "deny"),
      cancel(there, token, id),
      cancel(here, token, id),
    ]);
    const final = await there.read(token, id);
    for (const { status, json } of answers) {
      assert.ok(status === 200 || status === 409, `${status}`);
      if (status === 200) assert.deepEqual((json as ApprovalRequest).decision, final.decision);
    }
    if (isLate) assert.equal(final.status, "expired");
    const audit = await auditOf({ server: here }, `request:${id}`);
    assert.deepEqual(
      audit.map(({ kind }) => kind),
      ["request.opened", "request.resolved"],
    );
  }
});

/** How many wait for a lock in this database. */
const WAITING = `select count(*) as n from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

test("[ours.expire.race] a verdict that waits for the row until after the deadline comes too late", async () => {
  const { token } = await here.instance();
  const { id, deadline_at } = await here.submit(token, { timeout: "2s" });
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query("begin");
  await holder.query("select id from request where id = $1 for update", [id]);
  const verdict = here.decide(reviewer, id, "approve");
  await until(async () => Number((await holder.query(WAITING)).rows[0]?.n) > 0, "it waits");
  assert.ok(systemClock.now() < Date.parse(deadline_at), "the verdict came in time");
  await until(() => systemClock.now() > Date.parse(deadline_at) + 20, "the deadline passes");
  await holder.query("commit");
  await holder.end();
  const answer = await verdict;
  assert.deepEqual([answer.status, answer.json.error.code], [409, "already_terminal"]);
  const { status, decision } = await there.read(token, id);
  assert.equal(status, "expired");
  assert.ok((decision?.decided_at ?? "") >= deadline_at);
});

test("[ours.expire.race] a verdict with a write that lasts until after the deadline comes too late", async () => {
  const { token } = await here.instance();
  const { id, deadline_at } = await here.submit(token, { timeout: "2s" });
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query("begin");
  // As the making of an index does: the decision is locked and its time read, and its entry waits.
  await holder.query("lock table audit_entry in share mode");
  const verdict = here.decide(reviewer, id, "approve");
  await until(async () => Number((await holder.query(WAITING)).rows[0]?.n) > 0, "it waits");
  assert.ok(systemClock.now() < Date.parse(deadline_at), "the verdict came in time");
  await until(() => systemClock.now() > Date.parse(deadline_at) + 20, "the deadline passes");
  await holder.query("commit");
  await holder.end();
  const answer = await verdict;
  assert.deepEqual([answer.status, answer.json.error.code], [409, "already_terminal"]);
  const { status, decision } = await there.read(token, id);
  assert.equal(status, "expired");
  assert.ok((decision?.decided_at ?? "") >= deadline_at);
});

test("[instance.delete.credentials-revoked] a credential revoked at one replica is rejected by all", async () => {
  const instance = await here.instance();
  const { id } = await there.submit(instance.token);
  const path = `/v1/instances/${instance.id}`;
  const deleted = await here.call("DELETE", path, { token: instance.provisioner });
  assert.equal(deleted.status, 204);
  const read = await there.call("GET", `/v1/requests/${id}`, { token: instance.token });
  assert.equal(read.status, 401);
});

test("an id that no text of the database can hold is not found", async () => {
  const { token } = await here.instance();
  for (const id of ["%00", "a%00b", "%ED%A0%80", "%F0%9F%98%80"]) {
    const { status } = await here.call("GET", `/v1/requests/${id}`, { token });
    assert.ok(status === 404 || status === 400, `${id} got ${status}`);
  }
  const answer = await submitBody(here, token, { ...SUBMISSION, tool: "a\u0000b" }, "nul");
  assert.equal(answer.status, 201);
  assert.equal((await there.read(token, answer.json.id)).tool, "a\u0000b");
});

test("replicas need one secret key, and the error names the missing one", async (t) => {
  const { secret_key: _, ...without } = settings;
  const isSecretFailure = (pattern: RegExp) => (error: unknown) =>
    error instanceof Failure && error.dependency === "secret-key" && pattern.test(error.message);
  await assert.rejects(
    startTestProvider(t, { settings: without, data: "/nowhere" }),
    isSecretFailure(/secret\.key is missing.*create one first/),
  );
  const other = { ...settings, secret_key: randomBytes(32).toString("base64") };
  await assert.rejects(
    startTestProvider(t, { settings: other }),
    isSecretFailure(/differs from the key of this database/),
  );
});

test("ids are listed and paged whatever the collation of the database", async (t) => {
  // Where two letters a are one letter behind z.
  const danish = "encoding 'UTF8' locale_provider icu icu_locale 'da-DK' locale 'C'";
  const database = { database_url: await createDatabase(undefined, danish) };
  const server = await startTestProvider(t, {
    clock: new ManualClock(),
    settings: { ...settings, ...database, instance_rate: "0", account_submission_rate: "0" },
  });
  const instance = await server.instance();
  const token = await server.token({ kind: "reviewer" });
  const ids = new Set<string>();
  for (let i = 0; i < 25; i++) ids.add((await server.submit(instance.token)).id);
  const seen: string[] = [];
  let after = "";
  for (let next: string | null = ""; next !== null; after = `&after=${next}`) {
    const page: Answer<{ requests: { id: string }[]; next: string | null }> = await server.call(
      "GET",
      `/review/v1/requests?limit=4${after}`,
      { token },
    );
    assert.equal(page.status, 200, page.text);
    seen.push(...page.json.requests.map(({ id }) => id));
    next = page.json.next;
  }
  assert.deepEqual(seen.toSorted(), [...ids].sort());
});

test("[ours.operations.health] while the database is down every call returns 503, and afterwards all data is there", async (t) => {
  const database = await startPostgres();
  t.after(() => database.stop());
  const { servers: replicas } = await startReplicas(t, 2, await createDatabase(database));
  const [first, second] = replicas as [TestProvider, TestProvider];
  const { token } = await first.instance();
  const kept = await first.submit(token);
  await database.stop();
  for (const server of replicas) {
    const calls = [
      submitBody(server, token, SUBMISSION, "during"),
      server.call("GET", `/v1/requests/${kept.id}`, { token }),
      server.call("GET", `/v1/requests/${kept.id}?wait=30s`, { token }),
    ];
    for (const { status, headers } of await Promise.all(calls)) {
      assert.equal(status, 503);
      assert.equal(headers.get("retry-after"), "1");
    }
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 503);
  }
  await database.start();
  assert.deepEqual(await second.read(token, kept.id), kept);
  assert.equal((await submitBody(second, token, SUBMISSION, "during")).status, 201);
  await until(async () => (await fetch(`${first.url}/readyz`)).status === 200, "it is ready again");
});
