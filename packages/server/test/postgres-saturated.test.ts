/**
 * The answers to callers of a database that has no connection for them, or that is lost at the
 * worst moment: a 503 with Retry-After, and at the next try exactly the requested result.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import { Client } from "pg";
import { Report } from "../src/index.ts";
import { type CuttingProxy, startCuttingProxy } from "./support/cutting-proxy.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { createDatabase, execute } from "./support/postgres.ts";
import { startReplicas } from "./support/replicas.ts";
import { auditOf, cancel, submitBody } from "./support/scene.ts";
import { type Answer, SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

function assertUnavailable({ status, headers, text }: Answer): void {
  assert.equal(status, 503, text);
  assert.equal(headers.get("retry-after"), "1");
}

const POOL = 2;
const CALLERS = 12;

test("[ours.replicas.saturated] a call without a free connection returns 503 in time, and succeeds when there is one", async (t) => {
  const lines: string[] = [];
  const { servers, url } = await startReplicas(t, 1, undefined, {
    settings: { database_connections_max: String(POOL) },
    report: new Report("info", { write: (line: string) => void lines.push(line) }),
  });
  const server = servers[0] as TestProvider;
  const { token } = await server.instance();
  const kept = await server.submit(token);

  const holder = new Client({ connectionString: url });
  await holder.connect();
  t.after(() => holder.end());
  await holder.query("begin");
  await holder.query("lock table credential in access exclusive mode");
  const calls = () =>
    Array.from({ length: CALLERS }, (_, n) =>
      n % 2 === 0
        ? submitBody(server, token, SUBMISSION, `call ${n}`)
        : server.call<ApprovalRequest>("GET", `/v1/requests/${kept.id}`, { token }),
    );
  const refused = calls();
  for (const answer of refused) assertUnavailable(await answer);
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  assert.ok(
    lines.some((line) => /timeout exceeded when trying to connect/.test(line)),
    "no call was rejected because no connection was free",
  );

  await holder.query("rollback");
  const answers = await Promise.all(calls());
  assert.deepEqual(
    answers.map(({ status }) => status),
    answers.map((_, n) => (n % 2 === 0 ? 201 : 200)),
  );
  const { store } = server.provider.context;
  assert.equal((await store.get("select count(*) as n from request"))?.n, 1 + CALLERS / 2);
  await until(async () => (await fetch(`${server.url}/readyz`)).status === 200, "it is ready");
});

test("[ours.replicas.saturated] a database without free connections returns 503, until one is free", async (t) => {
  const url = await createDatabase();
  const role = `clerk_${new URL(url).pathname.slice(1)}`;
  await execute(url, `create role ${role} login`, `grant all on schema public to ${role}`);
  t.after(() => execute(url, `alter role ${role} nologin`));
  const limited = new URL(url);
  limited.username = role;
  const { servers } = await startReplicas(t, 1, limited.href);
  const server = servers[0] as TestProvider;
  const { token } = await server.instance();
  // Those that it has are ended, and no other is let in.
  await execute(
    url,
    `alter role ${role} connection limit 0`,
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`,
  );
  assertUnavailable(await submitBody(server, token, SUBMISSION, "one"));
  assert.equal((await fetch(`${server.url}/readyz`)).status, 503);
  await execute(url, `alter role ${role} connection limit -1`);
  assert.equal((await submitBody(server, token, SUBMISSION, "one")).status, 201);
});

interface Cut {
  readonly proxy: CuttingProxy;
  readonly server: TestProvider;
  readonly reviewer: string;
  readonly instance: { readonly id: string; readonly token: string; readonly provisioner: string };
}

/**
 * A server that reaches its database through a proxy. Its clock does not advance, so that no worker
 * commits anything in between.
 */
async function startCut(t: TestContext): Promise<Cut> {
  const proxy = await startCuttingProxy(t, await createDatabase());
  const { servers } = await startReplicas(t, 1, proxy.url, { clock: new ManualClock() });
  const server = servers[0] as TestProvider;
  const reviewer = await server.token({ kind: "reviewer" });
  return { proxy, server, reviewer, instance: await server.instance() };
}

async function count({ server }: Cut, table: string): Promise<unknown> {
  return (await server.provider.context.store.get(`select count(*) as n from ${table}`))?.n;
}

for (const moment of ["before", "after"] as const) {
  const what = moment === "before" ? "before the database has heard of it" : "after it was done";

  test(`[ours.replicas.saturated] [request.create.concurrent] a submission with its commit cut off ${what} returns 503, and a retry with its key leaves one request`, async (t) => {
    const cut = await startCut(t);
    const { proxy, server, instance } = cut;
    proxy.cut = moment;
    assertUnavailable(await submitBody(server, instance.token, SUBMISSION, "key"));
    assert.equal(proxy.cut, undefined, "no commit was cut off");
    assert.equal(await count(cut, "request"), moment === "before" ? 0 : 1);

    const again = await submitBody(server, instance.token, SUBMISSION, "key");
    assert.equal(again.status, moment === "before" ? 201 : 200, again.text);
    const replayed = await submitBody(server, instance.token, SUBMISSION, "key");
    assert.deepEqual([replayed.status, replayed.text], [200, again.text]);
    assert.equal(await count(cut, "request"), 1);
    const audit = await auditOf(cut, `request:${again.json.id}`);
    assert.deepEqual(
      audit.map(({ kind }) => kind),
      ["request.opened"],
    );
  });

  test(`[ours.replicas.saturated] a decision with its commit cut off ${what} returns 503, and a retry applies it once`, async (t) => {
    const cut = await startCut(t);
    const { proxy, server, instance, reviewer } = cut;
    const approved = await server.submit(instance.token);
    const cancelled = await server.submit(instance.token);
    const calls = [
      () => server.decide(reviewer, approved.id, "approve"),
      () => cancel(server, instance.token, cancelled.id),
    ];
    for (const call of calls) {
      proxy.cut = moment;
      assertUnavailable(await call());
      assert.equal(proxy.cut, undefined, "no commit was cut off");
      const { status, text } = await call();
      assert.equal(status, 200, text);
    }
    for (const [{ id }, status] of [
      [approved, "approved"],
      [cancelled, "cancelled"],
    ] as const) {
      assert.equal((await server.read(instance.token, id)).status, status);
      const kinds = (await auditOf(cut, `request:${id}`)).map(({ kind }) => kind);
      assert.deepEqual(kinds, ["request.opened", "request.resolved"]);
    }
    const late = await server.decide(reviewer, approved.id, "deny");
    assert.equal(late.status, 409);
  });

  test(`[ours.replicas.saturated] a provisioning and a deletion with their commit cut off ${what} return 503, and a retry applies each once`, async (t) => {
    const cut = await startCut(t);
    const { proxy, server, instance } = cut;
    const { provisioner } = instance;
    const provision = () => {
      const call = { token: provisioner, key: "key", body: { instance_name: "bot" } };
      return server.call("POST", "/v1/instances", call);
    };
    proxy.cut = moment;
    assertUnavailable(await provision());
    const again = await provision();
    assert.equal(again.status, moment === "before" ? 201 : 200, again.text);
    assert.equal(await count(cut, "instance"), 2);

    const { id } = await server.submit(instance.token);
    const remove = () =>
      server.call("DELETE", `/v1/instances/${instance.id}`, { token: provisioner });
    proxy.cut = moment;
    assertUnavailable(await remove());
    assert.equal((await remove()).status, 204);
    const kinds = (await auditOf(cut, `instance:${instance.id}`)).map(({ kind }) => kind);
    assert.deepEqual(kinds.filter((kind) => kind === "instance.deleted").length, 1);
    const ended = (await auditOf(cut, `request:${id}`)).map(({ kind }) => kind);
    assert.deepEqual(ended, ["request.opened", "request.resolved"]);
  });
}
