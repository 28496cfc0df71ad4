/** Concurrent history queries of one reviewer. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { scanHistory, scanStart } from "../src/steps/history/scanHistory.ts";
import { assertRefused } from "./support/envelope.ts";
import { copyDecided } from "./support/history.ts";
import { end, startScene } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

/** How many rows a query reads at a time. */
const STEP = 500;

test("[ours.history.line] a reviewer's history queries run one at a time and delay no other reviewer", async (t) => {
  const scene = await startScene(t);
  const { server, reviewer } = scene;
  const other = await server.token({ kind: "reviewer", name: "li" });
  await end(scene, await server.submit(scene.instance.token), "denied");
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  let started = 0;
  const { store } = server.provider.context;
  const all = store.all.bind(store);
  t.mock.method(store, "all", async (...query: Parameters<typeof all>) => {
    const [sql, values = []] = query;
    if (sql.includes("decided_at is not null") && values.at(-1) === STEP) {
      started++;
      await held;
    }
    return all(...query);
  });
  const query = (token: string, path: string) => {
    return server.call<never>("GET", `/review/v1/history${path}`, { token });
  };

  const many = Array.from({ length: 22 }, (_, i) => {
    return query(reviewer, i % 2 === 0 ? "?tool=x" : "/insights");
  });
  const settled: Answer<never>[] = [];
  for (const one of many) one.then((answer) => settled.push(answer));
  let othersQuery: Promise<Answer<never>>;
  try {
    // One runs and 20 are queued; the server rejects the last one.
    await until(() => settled.length > 0, "one query is rejected");
    assert.equal(started, 1);
    // A query without a filter is not queued.
    assert.equal((await query(reviewer, "")).status, 200);
    othersQuery = query(other, "?tool=x");
    await until(() => started === 2, "the other reviewer's query starts");
  } finally {
    release();
  }
  assert.equal((await othersQuery).status, 200);
  const answers = await Promise.all(many);
  const served = answers.filter(({ status }) => status === 200);
  assert.equal(served.length, 21);
  const rejected = answers.find(({ status }) => status !== 200) ?? assert.fail();
  assertRefused(rejected, 429, "rate_limited");
  assert.equal(rejected.headers.get("retry-after"), "1");
});

test("[ours.history.line] a history query stops reading when its client has disconnected", async (t) => {
  const scene = await startScene(t);
  const { store } = scene.server.provider.context;
  const one = await end(scene, await scene.server.submit(scene.instance.token), "denied");
  await copyDecided(scene, one.id, 2 * STEP);
  const row = await store.get("select project_id from request where id = $1", [one.id]);
  const filter = {
    tool: "x",
    toolPrefix: undefined,
    server: undefined,
    instanceId: undefined,
    decidedBy: undefined,
    statuses: undefined,
    since: undefined,
    until: undefined,
  };
  const gone = new AbortController();
  let steps = 0;
  const reader = {
    integrity: store.integrity,
    search: store.search,
    get: store.get.bind(store),
    getMany: store.getMany.bind(store),
    all: async (...query: Parameters<typeof store.all>) => {
      if (++steps === 2) gone.abort();
      return store.all(...query);
    },
  };
  const scan = {
    filter,
    direction: "older" as const,
    from: scanStart(filter),
    projectId: String(row?.project_id),
    signal: gone.signal,
  };
  await assert.rejects(
    async () => {
      for await (const { scanned } of scanHistory(reader, scan)) assert.equal(scanned, STEP);
    },
    { name: "AbortError" },
  );
  assert.equal(steps, 2);
});
