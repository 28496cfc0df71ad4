/**
 * How many messages an exchange sends to PostgreSQL, except for reads of the time: the tests have a
 * clock of their own. Each message is a round trip of the network. With a database in another zone,
 * the messages take most of the time.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sealEntries } from "../src/operations/audit/sealEntries.ts";
import { indexRequests } from "../src/operations/search/indexRequests.ts";
import { RecentlyUsed } from "../src/recently-used.ts";
import { projectId } from "./support/audit-logs.ts";
import { startCuttingProxy } from "./support/cutting-proxy.ts";
import { databaseIdle } from "./support/database-idle.ts";
import { ManualClock } from "./support/manual-clock.ts";
import { createDatabase } from "./support/postgres.ts";
import { startReplicas } from "./support/replicas.ts";
import { type ReviewedRequest, SUBMISSION, type TestProvider } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

interface Counted {
  readonly server: TestProvider;
  messagesOf<T>(work: () => Promise<T>): Promise<{ result: T; messages: number }>;
}

async function startCounted(t: TestContext): Promise<Counted> {
  const proxy = await startCuttingProxy(t, await createDatabase());
  // Its clock does not advance, so that no worker sends anything.
  const { servers } = await startReplicas(t, 1, proxy.url, { clock: new ManualClock() });
  const server = servers[0] as TestProvider;
  // Until the first rounds of the workers have ended.
  await until(async () => {
    const before = proxy.messages;
    await databaseIdle();
    return proxy.messages === before;
  }, "the server is idle");
  return {
    server,
    async messagesOf(work) {
      const before = proxy.messages;
      const result = await work();
      return { result, messages: proxy.messages - before };
    },
  };
}

test("the lookups of an exchange share messages to PostgreSQL", async (t) => {
  const { server, messagesOf } = await startCounted(t);
  const instance = await server.instance();
  const reviewer = await server.token({ kind: "reviewer" });
  /** The first exchange of a kind also fills caches. */
  const last = { create: 0, show: 0, decide: 0, read: 0 };
  for (let round = 0; round < 2; round++) {
    const created = await messagesOf(() => server.submit(instance.token, SUBMISSION));
    const { id } = created.result;
    const path = `/review/v1/requests/${id}`;
    const shown = await messagesOf(() =>
      server.call<ReviewedRequest>("GET", path, { token: reviewer }),
    );
    const { arguments_sha256 } = shown.result.json;
    const body = { verdict: "approve", arguments_sha256 };
    const decided = await messagesOf(() =>
      server.call("POST", `${path}/verdict`, { token: reviewer, body }),
    );
    const read = await messagesOf(() => server.read(instance.token, id));
    last.create = created.messages;
    last.show = shown.messages;
    last.decide = decided.messages;
    last.read = read.messages;
  }
  assert.deepEqual(last, { create: 4, show: 5, decide: 6, read: 2 });
});

test("the index of the search writes all requests of a batch in one message", async (t) => {
  const { server, messagesOf } = await startCounted(t);
  const instance = await server.instance();
  const { context } = server.provider;
  const index = async (requests: number) => {
    for (let n = 0; n < requests; n++) await server.submit(instance.token, SUBMISSION);
    await sealEntries(context, new RecentlyUsed(1), await projectId(context.store));
    return (await messagesOf(() => indexRequests(context.store))).messages;
  };
  await index(1);
  assert.equal(await index(9), await index(2));
});

test("notifications are not counted as messages, also with a prepared statement", async (t) => {
  const { server, messagesOf } = await startCounted(t);
  const { store } = server.provider.context;
  const values = ["countersign_wake", "probe of a test"];
  const notify = () => store.all("select pg_notify($1, $2)", values);
  for (let n = 0; n < 3; n++) assert.equal((await messagesOf(notify)).messages, 0);
});
