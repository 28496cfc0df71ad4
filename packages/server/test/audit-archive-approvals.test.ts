/** Approvals whose entries, or those of their requests, are in an archive. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { timeOfId } from "@countersign/protocol";
import { temporaryFolder } from "@countersign/testing/child";
import { archiveAll, verifyWith } from "./support/audit-archive.ts";
import { tamper, untilSealed } from "./support/audit-logs.ts";
import { makeUp, reviewerOf } from "./support/made-up-approvals.ts";
import { approve, newSigner } from "./support/passkeys.ts";
import { enforce, policyOf } from "./support/policies.ts";
import { type Scene, startScene } from "./support/scene.ts";

/** All calls need reviewers. */
async function startAsking(t: TestContext, ask: string): Promise<Scene> {
  const scene = await startScene(t);
  const rule = `{ id: all, match: { tool: "*" }, then: ask, ask: ${ask} }`;
  await enforce(scene.server, policyOf(rule));
  return scene;
}

async function notCompared(scene: Scene, archive?: string): Promise<number> {
  const { logs, finding } = await verifyWith(scene, archive);
  assert.equal(finding, undefined);
  return logs.reduce((sum, log) => sum + log.notCompared, 0);
}

for (const isResolvedBefore of [true, false]) {
  const when = isResolvedBefore ? "before" : "after";
  test(`[ours.audit-archive.verify] an approval ${when} the cut without the passkey that its archived request required is found`, async (t) => {
    const scene = await startAsking(t, "{ confirm: passkey }");
    const ana = await newSigner(scene.server, { login: "ana@example.com" });
    const actor = `reviewer:${await reviewerOf(scene, ana)}` as const;
    const directory = temporaryFolder(t);
    const good = await scene.server.submit(scene.instance.token);
    const bad = await scene.server.submit(scene.instance.token);
    await untilSealed(scene);
    if (!isResolvedBefore) await archiveAll(scene, { directory, prunes: true });
    assert.equal((await approve(scene.server, ana, good.id)).status, 200);
    await untilSealed(scene);
    if (isResolvedBefore) await archiveAll(scene, { directory });
    else assert.ok((await notCompared(scene)) > 0);
    assert.equal(await notCompared(scene, directory), 0);

    await makeUp(scene, bad.id, actor);
    await untilSealed(scene);
    if (isResolvedBefore) await archiveAll(scene, { directory, prunes: true });
    await untilSealed(scene);
    const { finding } = await verifyWith(scene, directory);
    assert.deepEqual([finding?.fault, finding?.kind], ["entry", "request.resolved"]);
    assert.match(
      finding?.message ?? "",
      /required a passkey, and reviewer:\S+ gave no valid proof/,
    );
  });
}

test("[ours.audit-archive.verify] votes before the cut count for an approval after it, withdrawn ones do not", async (t) => {
  const scene = await startAsking(t, "{ quorum: 2 }");
  const { server, instance } = scene;
  const directory = temporaryFolder(t);
  const tokens = await Promise.all(
    ["ana", "bob"].map((name) => server.token({ kind: "reviewer", name })),
  );
  const [ana = "", bob = ""] = tokens;
  // Requests and votes at one time: in the log, about half of the votes are before their request.
  const ids: string[] = [];
  for (let i = 0; i < 8; i++) ids.push((await server.submit(instance.token)).id);
  for (const id of ids) await server.decide(ana, id, "approve");
  await untilSealed(scene);
  await archiveAll(scene, { directory, prunes: true });
  for (const id of ids) {
    await server.decide(bob, id, "approve");
    assert.equal((await server.read(instance.token, id)).status, "approved");
  }
  await untilSealed(scene);
  assert.equal(await notCompared(scene, directory), 0);

  const other = await server.submit(instance.token);
  await untilSealed(scene);
  await archiveAll(scene, { directory, prunes: true });
  await makeUp(scene, other.id, "reviewer:someone");
  await untilSealed(scene);
  const { finding } = await verifyWith(scene, directory);
  assert.match(
    finding?.message ?? "",
    /quorum: its request required 2 approvals, and the log has 1/,
  );
});

test("[ours.audit.at-once] archived requests that were decided at once are compared", async (t) => {
  const scene = await startScene(t);
  const { server, instance } = scene;
  await enforce(server, policyOf('{ id: all, match: { tool: "*" }, then: approve }'));
  const directory = temporaryFolder(t);
  const { id } = await server.submit(instance.token);
  await untilSealed(scene);
  await archiveAll(scene, { directory, prunes: true });
  assert.ok((await notCompared(scene)) > 0);
  assert.equal(await notCompared(scene, directory), 0);
  const changed = "update request set decided_by = 'policy:another' where id = $1";
  await tamper(scene, changed, id);
  assert.equal((await verifyWith(scene, directory)).finding?.fault, "altered");
});

for (const [what, detail] of [
  ["an approval", {}],
  ["an approval with an opening of its own", { opened_by: "instance:1" }],
  ["a second denial", { status: "denied" }],
] as const) {
  test(`[ours.audit-archive.verify] [ours.audit.at-once] ${what}, of a request that was denied before, is found`, async (t) => {
    const scene = await startAsking(t, "{ quorum: 1 }");
    const { server, instance } = scene;
    const directory = temporaryFolder(t);
    const ana = await server.token({ kind: "reviewer", name: "ana" });
    const { id } = await server.submit(instance.token);
    await server.decide(ana, id, "deny");
    await untilSealed(scene);
    await scene.clock.advance(1_000);
    await makeUp(scene, id, "reviewer:someone", detail);
    await untilSealed(scene);
    await archiveAll(scene, { directory, prunes: true });
    const { finding } = await verifyWith(scene, directory);
    assert.match(finding?.message ?? "", /its request was resolved before/);
  });
}

test("[ours.audit.at-once] an approval that opens its request itself is compared with the archived requirement", async (t) => {
  const scene = await startAsking(t, "{ confirm: passkey }");
  const { server, instance, clock } = scene;
  const directory = temporaryFolder(t);
  const { id } = await server.submit(instance.token);
  await untilSealed(scene);
  await archiveAll(scene, { directory, prunes: true });
  const at = timeOfId(id) ?? 0;
  await makeUp(scene, id, "policy:all", { opened_by: `instance:${instance.id}` }, at);
  // A scan every five minutes seals entries that are late.
  clock.advance(6 * 60_000);
  await untilSealed(scene);
  assert.ok((await notCompared(scene)) > 0);
  const { finding } = await verifyWith(scene, directory);
  assert.match(finding?.message ?? "", /required reviewers, and policy:all approved it/);
});
