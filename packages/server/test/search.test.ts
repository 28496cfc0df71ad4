/** Full-text search: what it finds, pages, filters, hostile texts, retention. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertRefused } from "./support/envelope.ts";
import { type Scene, startScene, UNKNOWN_ID } from "./support/scene.ts";
import { until } from "./support/until.ts";

interface Found {
  readonly id: string;
  readonly status: string;
  readonly line?: { readonly text: string };
  readonly matches: readonly {
    readonly field: string;
    readonly excerpt: readonly { readonly text: string; readonly match: boolean }[];
  }[];
}

interface Page {
  readonly requests: readonly Found[];
  readonly next: string | null;
}

function search(scene: Scene, parameters: Readonly<Record<string, string>>, token?: string) {
  const { server, reviewer } = scene;
  const path = `/review/v1/search?${new URLSearchParams(parameters)}`;
  return server.call<Page>("GET", path, { token: token ?? reviewer });
}

async function found(scene: Scene, parameters: Readonly<Record<string, string>>): Promise<Page> {
  const { status, text, json } = await search(scene, parameters);
  assert.equal(status, 200, text);
  return json;
}

async function idsOf(scene: Scene, q: string, more = {}): Promise<string[]> {
  return (await found(scene, { q, ...more })).requests.map(({ id }) => id);
}

/** Lets the workers go on until a search finds so many. */
async function untilFound(scene: Scene, q: string, count: number): Promise<void> {
  await until(async () => {
    scene.clock.advance(1_000);
    return (await idsOf(scene, q)).length === count;
  }, `${count} requests are found by ${q}`);
}

function submit(scene: Scene, tool: string, args: object) {
  return scene.server.submit(scene.instance.token, { tool, arguments: args, timeout: "160h" });
}

const shared = await startScene({ after });
const refund = await submit(shared, "stripe.refund", { order: "A-10077", who: "Müller" });
shared.clock.advance(1);
const query = await submit(shared, "db.query", { sql: "select 1 from refunds" });
shared.clock.advance(1);
const other = await submit(shared, "browser_click", { x: 'say "hi" \u0000 </b>' });
const decided = await shared.server.decide(shared.reviewer, query.id, "deny", {
  note: "Reads the refunds of everybody",
});
await untilFound(shared, "everybody", 1);
await untilFound(shared, "click", 1);

test("[ours.search.finds] pending and resolved requests are found by tool, arguments and note", async () => {
  assert.deepEqual(await idsOf(shared, "stripe"), [refund.id]);
  assert.deepEqual(await idsOf(shared, "a-10077"), [refund.id]);
  assert.deepEqual(await idsOf(shared, "muller order"), [refund.id]);
  assert.deepEqual(await idsOf(shared, '"from refunds"'), [query.id]);
  assert.deepEqual(await idsOf(shared, '"refunds from"'), []);
  assert.deepEqual(await idsOf(shared, "refund"), [refund.id]);
  assert.deepEqual(await idsOf(shared, "refund*"), [query.id, refund.id]);
  assert.deepEqual(await idsOf(shared, "click hi"), [other.id]);
});

test("[ours.search.finds] a result states where it matches, and the line of the call", async () => {
  const { requests } = await found(shared, { q: "refunds everybody" });
  assert.deepEqual(requests[0]?.matches, [
    {
      field: "arguments",
      excerpt: [
        { text: "sql: select 1 from ", match: false },
        { text: "refunds", match: true },
      ],
    },
    {
      field: "note",
      excerpt: [
        { text: "Reads the ", match: false },
        { text: "refunds", match: true },
        { text: " of ", match: false },
        { text: "everybody", match: true },
      ],
    },
  ]);
  assert.equal(requests[0]?.status, "denied");
  assert.match(requests[0]?.line?.text ?? "", /select 1 from refunds/);
});

test("[ours.search.finds] a request is found by the name of the reviewer who decided", async () => {
  assert.deepEqual(await idsOf(shared, `"${decided.json.decider}"`), [query.id]);
});

test("[ours.search.filters] the filters of the history narrow a search", async () => {
  assert.deepEqual(await idsOf(shared, "refund*", { tool_prefix: "stripe." }), [refund.id]);
  assert.deepEqual(await idsOf(shared, "refund*", { status: "denied" }), [query.id]);
  assert.deepEqual(await idsOf(shared, "refund*", { status: "approved" }), []);
  assert.deepEqual(await idsOf(shared, "refund*", { decided_by: "reviewer" }), [query.id]);
  assert.deepEqual(await idsOf(shared, "refund*", { since: "2026-01-01T00:00:00Z" }), [query.id]);
  assertRefused(
    await search(shared, { q: "a", status: "maybe" }),
    400,
    "invalid_request",
    "status",
  );
});

test("[ours.search.query] every text of 1 to 200 characters is a valid search", async () => {
  for (const q of [
    '"',
    "* :* &",
    "'",
    "a' OR 'b",
    "NEAR(a, 5)",
    "^a",
    "{a} : b",
    "-",
    "\\",
    "é\ud800",
  ]) {
    assert.equal((await search(shared, { q })).status, 200, q);
  }
  assert.equal((await search(shared, { q: "x".repeat(200) })).status, 200);
  for (const q of ["", "x".repeat(201), "a\u0000b"]) {
    assertRefused(await search(shared, { q }), 400, "invalid_request", "q");
  }
  assertRefused(await search(shared, {}), 400, "invalid_request", "q");
});

test("[ours.search.pages] pages lead from the latest request to the oldest without a gap", async (t) => {
  const scene = await startScene(t);
  const ids: string[] = [];
  for (let i = 0; i < 45; i++) {
    ids.push((await submit(scene, "many", { i })).id);
    scene.clock.advance(1);
  }
  await untilFound(scene, "many", 45);
  const seen: string[] = [];
  let after: string | null = "";
  while (after !== null) {
    const page: Page = await found(scene, { q: "many", limit: "10", ...(after && { after }) });
    assert.ok(page.requests.length <= 10);
    seen.push(...page.requests.map(({ id }) => id));
    after = page.next;
  }
  assert.deepEqual(seen, ids.toReversed());
});

test("[ours.search.project] a search finds only requests of the caller's project", async () => {
  const { server } = shared;
  const stranger = await server.token({ kind: "reviewer", project: "elsewhere" });
  const { status, json } = await search(shared, { q: "refund*" }, stranger);
  assert.deepEqual([status, json.requests, json.next], [200, [], null]);
});

test("[ours.search.retention] a purged request leaves no words in the index", async (t) => {
  const scene = await startScene(t);
  const { id } = await submit(scene, "purged.tool", { word: "ephemeral" });
  await scene.server.decide(scene.reviewer, id, "deny");
  await untilFound(scene, "ephemeral", 1);
  const { store } = scene.server.provider.context;
  await until(async () => {
    scene.clock.advance(24 * 3_600_000);
    return (await store.get("select 1 as one from search_document")) === undefined;
  }, "the request is purged");
  assert.deepEqual(await idsOf(scene, "ephemeral"), []);
  if (store.search.engine === "sqlite") {
    const rows = await store.all(
      "select rowid from search_words where search_words match '\"ephemeral\"'",
    );
    assert.deepEqual(rows, []);
  }
});

test("[ours.search.retention] the words of a request that was purged meanwhile are not written", async (t) => {
  const { server } = await startScene(t);
  const { store } = server.provider.context;
  await store.transact(async (tx) => {
    const project = await tx.get("select id from project");
    const projectId = String(project?.id);
    await tx.search.put(tx, [{ projectId, id: UNKNOWN_ID, words: ["canary"] }]);
  });
  assert.deepEqual(await store.all("select request_id from search_document"), []);
});
