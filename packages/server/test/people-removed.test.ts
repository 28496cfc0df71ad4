/**
 * Reviewers who were removed from their project.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { disablePerson, listPeople, makeReturnLink } from "../src/index.ts";
import { authenticateCaller } from "../src/operations/access/authenticateCaller.ts";
import { removeReviewerNamed } from "../src/operations/people/removeReviewer.ts";
import { castVerdict } from "../src/operations/requests/castVerdict.ts";
import type { Store } from "../src/storage/store.ts";
import { assertRefused } from "./support/envelope.ts";
import { callAs, newPerson } from "./support/people.ts";
import { setOwner, submitRequiring } from "./support/requirements.ts";
import { auditOf, startScene } from "./support/scene.ts";
import { type ReviewedRequest, SUBMISSION } from "./support/test-provider.ts";

const scene = await startScene({ after });
const { server, clock, instance } = scene;
const { store } = server.provider.context;

const LIST = "/review/v1/requests";

/** Marks the row alone: nothing else that a removal does. */
async function markRemoved(rows: Store, name: string): Promise<void> {
  await rows.transact(async (tx) => {
    await tx.run("update reviewer set removed_at = 1 where name = $1", [name]);
  });
}

test("[ours.people.removed] the token of a removed reviewer is rejected like an unknown one", async () => {
  const token = await server.token({ kind: "reviewer", name: "gone" });
  assert.equal((await server.call("GET", LIST, { token })).status, 200);
  await markRemoved(store, "gone");
  assertRefused(await server.call("GET", LIST, { token }), 401, "invalid_credential");
});

test("[ours.people.removed] [ours.verdict.quorum] the vote of a reviewer removed before the quorum does not count", async () => {
  const [left, ben, cleo] = await Promise.all(
    ["left", "ben", "cleo"].map((name) => server.token({ kind: "reviewer", name })),
  );
  const { id } = await submitRequiring(scene, { quorum: 2 });
  assert.equal((await server.decide(left ?? "", id, "approve")).json.status, "pending");
  await markRemoved(store, "left");
  assert.equal((await server.decide(ben ?? "", id, "approve")).json.status, "pending");
  assert.equal((await server.decide(cleo ?? "", id, "approve")).json.status, "approved");
});

test("[ours.verdict.owner] a removed owner who returns as another reviewer is still the owner and cannot approve", async () => {
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

test("[ours.people.disabled] a disabled user is locked out everywhere at once, with tokens, votes and links, until an admin enables them", async () => {
  const { context } = server.provider;
  const token = await server.token({ kind: "reviewer", name: "dora" });
  const dora = await newPerson(server, { login: "dora" });
  const [eve, fay] = await Promise.all(
    ["eve", "fay"].map((name) => server.token({ kind: "reviewer", name })),
  );
  const { id } = await submitRequiring(scene, { quorum: 2 });
  assert.equal((await server.decide(token, id, "approve")).json.status, "pending");
  const link = await makeReturnLink(context, "dora");
  await disablePerson(context, { login: "DORA", isDisabled: true });
  await disablePerson(context, { login: "dora", isDisabled: true });
  assertRefused(await server.call("GET", LIST, { token }), 401, "invalid_credential");
  assertRefused(await callAs(server, dora, "GET", "/requests"), 401, "invalid_credential");
  const request = { body: { token: link } };
  assertRefused(await callAs(server, undefined, "POST", "/invitation", request), 404, "not_found");
  assert.equal((await server.decide(eve ?? "", id, "approve")).json.status, "pending");
  await disablePerson(context, { login: "dora", isDisabled: false });
  assert.equal((await server.call("GET", LIST, { token })).status, 200);
  assertRefused(await callAs(server, dora, "GET", "/requests"), 401, "invalid_credential");
  assert.equal((await server.decide(fay ?? "", id, "approve")).json.status, "approved");
  const updates = (await auditOf(scene, `person:${dora.id}`)).filter(
    ({ kind }) => kind === "person.updated",
  );
  assert.deepEqual(
    updates.map(({ actor, detail }) => [actor, detail]),
    [
      ["operator:cli", { disabled_at: clock.now() }],
      ["operator:cli", { disabled_at: null }],
    ],
  );
  await assert.rejects(disablePerson(context, { login: "nobody", isDisabled: true }), {
    code: "not_found",
  });
  const listed = (await listPeople(context)).find(({ login }) => login === "dora");
  assert.deepEqual([listed?.disabledAt, listed?.ways], [null, []]);
});

for (const verdict of ["approve", "deny"] as const) {
  test(`[ours.people.removed] a reviewer removed while their verdict is on its way does not ${verdict}`, async () => {
    const { context } = server.provider;
    const name = `late-${verdict}`;
    const token = await server.token({ kind: "reviewer", name });
    const { id } = await submitRequiring(scene, {});
    const caller = await authenticateCaller(context, `Bearer ${token}`);
    assert.ok(caller.kind === "reviewer");
    await markRemoved(store, name);
    const argumentsSha256 = createHash("sha256")
      .update(JSON.stringify(SUBMISSION.arguments))
      .digest("hex");
    const given = { verdict, argumentsSha256, note: undefined, validityMs: undefined };
    const cast = castVerdict(context, caller, id, { ...given, confirmation: undefined });
    await assert.rejects(cast, { code: "invalid_credential" });
    assert.equal((await server.read(instance.token, id)).status, "pending");
  });
}
