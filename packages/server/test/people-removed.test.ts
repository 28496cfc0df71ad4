/**
 * Reviewers who were removed from their project.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Store } from "../src/storage/store.ts";
import { assertRefused } from "./support/envelope.ts";
import { submitRequiring } from "./support/requirements.ts";
import { startScene } from "./support/scene.ts";

const scene = await startScene({ after });
const { server } = scene;
const { store } = server.provider.context;

const LIST = "/review/v1/requests";

/** Marks the row alone: nothing else that a removal does. */
async function markRemoved(rows: Store, name: string): Promise<void> {
  await rows.transact(async (tx) => {
    await tx.run("update reviewer set removed_at = 1 where name = $1", [name]);
  });
}

test("[ours.people.removed] whoever was removed is refused as if the token were unknown", async () => {
  const token = await server.token({ kind: "reviewer", name: "gone" });
  assert.equal((await server.call("GET", LIST, { token })).status, 200);
  await markRemoved(store, "gone");
  assertRefused(await server.call("GET", LIST, { token }), 401, "invalid_credential");
});

test("[ours.people.removed] [ours.verdict.quorum] a vote of somebody removed before the quorum does not count", async () => {
  const [left, ben, cleo] = await Promise.all(
    ["left", "ben", "cleo"].map((name) => server.token({ kind: "reviewer", name })),
  );
  const { id } = await submitRequiring(scene, { quorum: 2 });
  assert.equal((await server.decide(left ?? "", id, "approve")).json.status, "pending");
  await markRemoved(store, "left");
  assert.equal((await server.decide(ben ?? "", id, "approve")).json.status, "pending");
  assert.equal((await server.decide(cleo ?? "", id, "approve")).json.status, "approved");
});
