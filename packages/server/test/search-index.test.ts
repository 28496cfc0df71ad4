// The index of the search: which sealed entries one run indexes, and replicas that run together.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sealEntries } from "../src/operations/audit/sealEntries.ts";
import { ENTRIES_PER_RUN, indexRequests } from "../src/operations/search/indexRequests.ts";
import { RecentlyUsed } from "../src/recently-used.ts";
import type { Store } from "../src/storage/store.ts";
import { projectId } from "./support/audit-logs.ts";
import { type Scene, startScene } from "./support/scene.ts";
import { aroundTransactions, failingOnce } from "./support/transactions.ts";

function storeOf({ server }: Scene): Store {
  return server.provider.context.store;
}

async function submit(scene: Scene, tool: string, args = {}, token?: string): Promise<string> {
  const { server, instance } = scene;
  return (await server.submit(token ?? instance.token, { tool, arguments: args })).id;
}

/** Seals what is not sealed. The clock of the scene is stopped, so no worker does. */
async function seal(scene: Scene, project?: string): Promise<void> {
  const { context } = scene.server.provider;
  const id = project ?? (await projectId(context.store));
  await sealEntries(context, new RecentlyUsed(1), id);
}

async function idsOf(scene: Scene, q: string, token = scene.reviewer): Promise<string[]> {
  const path = `/review/v1/search?${new URLSearchParams({ q })}`;
  type Found = { readonly requests: readonly { readonly id: string }[] };
  const { json } = await scene.server.call<Found>("GET", path, { token });
  return json.requests.map(({ id }) => id);
}

test("[ours.search.finds] a project that cannot be indexed does not stop the index of the others", async (t) => {
  const scene = await startScene(t);
  const { server } = scene;
  const elsewhere = await server.instance("elsewhere");
  const reader = await server.token({ kind: "reviewer", project: "elsewhere" });
  const store = storeOf(scene);
  await submit(scene, "both");
  await submit(scene, "both", {}, elsewhere.token);
  for (const { id } of await store.all("select id from project")) await seal(scene, String(id));
  const count = async () =>
    (await idsOf(scene, "both")).length + (await idsOf(scene, "both", reader)).length;
  await assert.rejects(indexRequests(failingOnce(store, "the first project")), /the first project/);
  assert.equal(await count(), 1);
  assert.deepEqual(await indexRequests(store), { more: false });
  assert.equal(await count(), 2);
});

test("[ours.search.finds] one run indexes small seals together, up to a number of entries", async (t) => {
  const scene = await startScene(t);
  await seal(scene);
  await indexRequests(storeOf(scene));
  for (let n = 0; n < ENTRIES_PER_RUN + 1; n++) {
    await submit(scene, "sparse.tool");
    await seal(scene);
  }
  assert.deepEqual(await indexRequests(storeOf(scene)), { more: true });
  assert.equal((await idsOf(scene, "sparse")).length, ENTRIES_PER_RUN);
  assert.deepEqual(await indexRequests(storeOf(scene)), { more: false });
  assert.equal((await idsOf(scene, "sparse")).length, ENTRIES_PER_RUN + 1);
});

test("[ours.search.finds] a batch numbers its requests from the oldest, so that a search finds the latest first", async (t) => {
  const scene = await startScene(t);
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push(await submit(scene, "ordered.tool"));
  await seal(scene);
  await indexRequests(storeOf(scene));
  assert.deepEqual(await idsOf(scene, "ordered"), ids.toSorted().toReversed());
});

test("[ours.search.finds] a seal with more entries than that is indexed alone", async (t) => {
  const scene = await startScene(t);
  for (let n = 0; n < ENTRIES_PER_RUN + 1; n++) await submit(scene, "dense.tool");
  await seal(scene);
  await submit(scene, "later.tool");
  await seal(scene);
  assert.deepEqual(await indexRequests(storeOf(scene)), { more: true });
  assert.equal((await idsOf(scene, "dense")).length, ENTRIES_PER_RUN + 1);
  assert.deepEqual(await idsOf(scene, "later"), []);
  assert.deepEqual(await indexRequests(storeOf(scene)), { more: false });
  assert.equal((await idsOf(scene, "later")).length, 1);
});

test("[ours.search.finds] a replica that has read older words does not write them over those of a later seal", async (t) => {
  const scene = await startScene(t);
  const { server, reviewer } = scene;
  const id = await submit(scene, "raced.tool");
  await seal(scene);
  const slowHasRead = Promise.withResolvers<void>();
  const fastHasWritten = Promise.withResolvers<void>();
  const slowHasWritten = Promise.withResolvers<void>();
  const fastHasEnded = Promise.withResolvers<void>();
  const slow = aroundTransactions(storeOf(scene), async (transact) => {
    slowHasRead.resolve();
    await fastHasWritten.promise;
    await transact();
    slowHasWritten.resolve();
    await fastHasEnded.promise;
  });
  const fast = aroundTransactions(storeOf(scene), async (transact) => {
    await transact();
    fastHasWritten.resolve();
    await slowHasWritten.promise;
  });
  const indexing = indexRequests(slow);
  await slowHasRead.promise;
  await server.decide(reviewer, id, "deny", { note: "Reads everybody" });
  await seal(scene);
  await indexRequests(fast);
  fastHasEnded.resolve();
  await indexing;
  while ((await indexRequests(storeOf(scene))).more);
  assert.deepEqual(await idsOf(scene, "everybody"), [id]);
});
