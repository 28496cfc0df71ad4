/**
 * Many looks of one reviewer at a long history.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { newestOf, scanHistory } from "../src/operations/history/scanHistory.ts";
import { assertRefused } from "./support/envelope.ts";
import { copyDecided } from "./support/history.ts";
import { end, startScene } from "./support/scene.ts";
import type { Answer } from "./support/test-provider.ts";
import { until } from "./support/until.ts";

/** What a look reads at a time that goes through all there is. */
const STEP = 500;

test("[ours.history.line] a reviewer's looks wait for each other, and keep nobody else waiting", async (t) => {
  const scene = await startScene(t);
  const { server, reviewer } = scene;
  const other = await server.token({ kind: "reviewer", name: "li" });
  await end(scene, await server.submit(scene.instance.token), "denied");
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  let begun = 0;
  const { store } = server.provider.context;
  const all = store.all.bind(store);
  t.mock.method(store, "all", async (...query: Parameters<typeof all>) => {
    const [sql, values = []] = query;
    if (sql.includes("decided_at is not null") && values.at(-1) === STEP) {
      begun++;
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
  let theirs: Promise<Answer<never>>;
  try {
    // One is done and twenty wait; the one that came last of all is refused.
    await until(() => settled.length > 0, "one too many is refused");
    assert.equal(begun, 1);
    // What reads no more than it shows waits for nothing.
    assert.equal((await query(reviewer, "")).status, 200);
    theirs = query(other, "?tool=x");
    await until(() => begun === 2, "somebody else's look begins");
  } finally {
    release();
  }
  assert.equal((await theirs).status, 200);
  const answers = await Promise.all(many);
  const served = answers.filter(({ status }) => status === 200);
  assert.equal(served.length, 21);
  const refused = answers.find(({ status }) => status !== 200) ?? assert.fail();
  assertRefused(refused, 429, "rate_limited");
  assert.equal(refused.headers.get("retry-after"), "1");
});

test("[ours.history.line] a look goes no further when nobody waits for it any more", async (t) => {
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
    get: store.get.bind(store),
    all: async (...query: Parameters<typeof store.all>) => {
      if (++steps === 2) gone.abort();
      return store.all(...query);
    },
  };
  const scan = {
    filter,
    direction: "older" as const,
    from: newestOf(filter),
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
