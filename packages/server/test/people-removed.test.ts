/**
 * Reviewers who were removed from their project.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { removeReviewerNamed } from "../src/operations/removeReviewer.ts";
import type { Store } from "../src/storage/store.ts";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson } from "./support/people.ts";
import { setOwner, submitRequiring } from "./support/requirements.ts";
import { auditOf, startScene } from "./support/scene.ts";
import type { ReviewedRequest } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, instance } = scene;
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

test("[ours.verdict.owner] who comes back as another reviewer is the owner still, and may not approve", async () => {
  const ana = await newPerson(server, { login: "ana" });
  await setOwner(store, instance.id, "ana");
  const { id } = await submitRequiring(scene, { excludeOwner: true });
  await removeReviewerNamed(server.provider.context, "default", "ana");
  const admin = await server.token({ kind: "reviewer", name: "boss", role: "admin" });
  const order = { token: admin, body: { name: "ana again" } };
  const made = await server.call<{ url: string }>("POST", "/review/v1/invitations", order);
  const join = { body: { token: made.json.url.split("#")[1] } };
  assert.equal((await callAs(server, ana, "POST", "/invitation/join", join)).status, 200);
  const shown = await callAs<ReviewedRequest>(server, ana, "GET", `/requests/${id}`);
  assert.equal(shown.json.may_decide.approve, false);
  const body = { verdict: "approve", arguments_sha256: shown.json.arguments_sha256 };
  const verdict = await callAs(server, ana, "POST", `/requests/${id}/verdict`, { body });
  assertRefused(verdict, 403, "forbidden");
  const grouped = (await auditOf(scene, `instance:${instance.id}`)).at(-1);
  assert.deepEqual([grouped?.kind, grouped?.actor], ["instance.grouped", `person:${ana.id}`]);
});
