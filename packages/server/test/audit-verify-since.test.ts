/** Verification of the entries that came after a checkpoint. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { temporaryFolder } from "@countersign/testing/child";
import { UNSEALED_MS_MAX } from "../src/audit/verify-log.ts";
import { Failure } from "../src/failure.ts";
import { archiveAll } from "./support/audit-archive.ts";
import {
  assertVerified,
  checkpointOf,
  type Kept,
  projectId,
  sealedIds,
  sealResolutionFirst,
  storeOf,
  tamper,
  untilPurgedAndSealed,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { ENGINE } from "./support/engine.ts";
import { copyRequest, overwriteRequest, requestRow } from "./support/overwritten-requests.ts";
import { end, startScene } from "./support/scene.ts";
import type { Lifetime } from "./support/test-provider.ts";

/** A sealed log of two parts, far apart in time, and the checkpoint between them. */
async function startTwoParts(t: Lifetime, requests = 2) {
  const scene = await startScene(t);
  const { server, instance, reviewer } = scene;
  const early: string[] = [];
  for (let i = 0; i < requests; i++) {
    const { id } = await server.submit(instance.token);
    if (i > 0) await server.decide(reviewer, id, "approve");
    early.push(id);
  }
  await untilSealed(scene);
  scene.clock.advance(2 * UNSEALED_MS_MAX);
  await server.submit(instance.token);
  await untilSealed(scene);
  const older = await checkpointOf(scene);
  scene.clock.advance(2 * UNSEALED_MS_MAX);
  const late = (await server.submit(instance.token)).id;
  // Pending at the time of the checkpoint.
  await server.decide(reviewer, early[0] ?? "", "deny");
  await untilSealed(scene);
  return { scene, older, early, late, kept: { older, isIncremental: true } };
}

// More entries than a tile covers.
const { scene, older, early, late, kept } = await startTwoParts({ after }, 130);

async function faultOf(options: Kept) {
  return (await verifyAll(scene, options)).finding?.fault;
}

test("[ours.audit.since] only the log of the checkpoint is verified, from the checkpoint on", async () => {
  const { finding, logs } = await verifyAll(scene, kept);
  assert.equal(finding, undefined);
  assert.deepEqual(
    logs.map(({ project, since }) => [project, since]),
    [["default", older.size]],
  );
  await assertVerified(scene, { isIncremental: true, older: await checkpointOf(scene) });
});

test("[ours.audit.since] an altered entry after the checkpoint is reported, an earlier one only by a complete verification", async () => {
  const ids = await sealedIds(storeOf(scene), await projectId(storeOf(scene)));
  const [before = "", behind = ""] = [ids[100], ids[older.size]];
  const update = "update audit_entry set actor = $2 where id = $1";
  const actorOf = async (id: string) =>
    (await storeOf(scene).get("select actor from audit_entry where id = $1", [id]))?.actor ?? "";
  const actors = [await actorOf(before), await actorOf(behind)] as const;
  await tamper(scene, update, before, "operator:other");
  await assertVerified(scene, kept);
  assert.equal(await faultOf({}), "altered");
  await tamper(scene, update, behind, "operator:other");
  const { finding } = await verifyAll(scene, kept);
  assert.deepEqual([finding?.fault, finding?.position], ["altered", older.size]);
  await tamper(scene, update, before, actors[0]);
  await tamper(scene, update, behind, actors[1]);
  await assertVerified(scene);
});

test("[ours.audit.since] hashes of earlier entries that do not have the root of the checkpoint are reported", async () => {
  const lastSeal = `select max(position) from audit_seal where position < ${older.size}`;
  const project = `project_id = '${await projectId(storeOf(scene))}'`;
  for (const [table, condition] of [
    ["audit_tile", `${project} and level = 1`],
    ["audit_seal", `${project} and position = (${lastSeal} and ${project})`],
  ] as const) {
    const row = await storeOf(scene).get(`select hashes from ${table} where ${condition}`);
    const hashes = String(row?.hashes);
    const changed = hashes.replace(/^./, (char) => (char === "A" ? "B" : "A"));
    await tamper(scene, `update ${table} set hashes = $1 where ${condition}`, changed);
    assert.equal(await faultOf(kept), "rewritten", table);
    await tamper(scene, `update ${table} set hashes = $1 where ${condition}`, hashes);
  }
  await assertVerified(scene, kept);
});

test("[ours.audit.since] a log that is shorter than the checkpoint is truncated, and another root is another log", async () => {
  const longer = { ...older, size: older.size + 1_000 };
  assert.equal(await faultOf({ older: longer, isIncremental: true }), "truncated");
  const other = { ...older, root: new Uint8Array(32) };
  assert.equal(await faultOf({ older: other, isIncremental: true }), "rewritten");
});

test("[ours.audit.since] requests that were created or decided after the checkpoint are compared with the log", async () => {
  const [decided = "", before = ""] = early;
  for (const [id, change] of [
    [late, { tool: '"other"' }],
    [decided, { arguments: '{"other":1}' }],
  ] as const) {
    const row = await storeOf(scene).get("select * from request where id = $1", [id]);
    await overwriteRequest(scene, id, change);
    const { finding } = await verifyAll(scene, kept);
    assert.deepEqual([finding?.fault, finding?.kind, finding?.id], ["altered", "request", id]);
    const [[name, value]] = Object.entries(change) as [[string, string]];
    await overwriteRequest(scene, id, { [name]: row?.[name] ?? value });
  }
  const [{ tool = null } = {}] = await storeOf(scene).all(
    "select tool from request where id = $1",
    [before],
  );
  await overwriteRequest(scene, before, { tool: '"other"' });
  await assertVerified(scene, kept);
  assert.equal(await faultOf({}), "altered");
  await overwriteRequest(scene, before, { tool });
  await assertVerified(scene);
});

test("[ours.audit.since] an entry of the time after the checkpoint that nothing seals is reported", async (t) => {
  const own = await startTwoParts(t);
  own.scene.clock.advance(2 * UNSEALED_MS_MAX);
  await tamper(
    own.scene,
    `insert into audit_entry (id, at, project_id, kind, actor, subject, detail)
     select $1, at, project_id, kind, actor, subject, detail from audit_entry
     where subject = $2 and kind = 'request.opened'`,
    own.late,
    `request:${own.late}`,
  );
  const { finding } = await verifyAll(own.scene, own.kept);
  assert.deepEqual([finding?.fault, finding?.id], ["unsealed", own.late]);
});

test("[ours.audit.since] a checkpoint before the cut of a pruned log is refused, a later one is not", async (t) => {
  const own = await startTwoParts(t);
  await archiveAll(own.scene, { directory: temporaryFolder(t), prunes: true });
  await untilSealed(own.scene);
  await assert.rejects(verifyAll(own.scene, own.kept), (error) => {
    assert.ok(error instanceof Failure);
    assert.match(error.message, /are in an archive: verify the log without --since/);
    return true;
  });
  await assertVerified(own.scene, { older: await checkpointOf(own.scene), isIncremental: true });
});

test("[ours.audit.since] requests of the minutes before the checkpoint are compared with the log", async (t) => {
  const own = await startScene(t);
  const { server, instance, clock } = own;
  const request = await server.submit(instance.token);
  const pending = await requestRow(own, request.id);
  clock.advance(1);
  await end(own, request, "denied");
  const { id } = await server.submit(instance.token);
  await untilSealed(own);
  const checkpoint = { older: await checkpointOf(own), isIncremental: true };
  clock.advance(2 * UNSEALED_MS_MAX);
  await server.submit(instance.token);
  await untilSealed(own);
  await assertVerified(own, checkpoint);
  const denied = await requestRow(own, request.id);
  await overwriteRequest(own, request.id, pending);
  const messageOf = async () => (await verifyAll(own, checkpoint)).finding?.message;
  const cameBack = "its row has the status pending, but the log has denied";
  assert.equal(await messageOf(), `request ${request.id}: ${cameBack}`);
  await overwriteRequest(own, request.id, denied);
  await tamper(own, "delete from request where id = $1", id);
  const isMissing = "its row is missing, but it is pending in the log";
  assert.equal(await messageOf(), `request ${id}: ${isMissing}`);
});

test("[ours.audit.since] a changed time of the seal before the checkpoint hides no changed request", async (t) => {
  const own = await startScene(t);
  const { server, instance, clock } = own;
  const request = await server.submit(instance.token);
  await untilSealed(own);
  const older = await checkpointOf(own);
  clock.advance(2 * UNSEALED_MS_MAX);
  const pending = await requestRow(own, request.id);
  await end(own, request, "denied");
  await untilSealed(own);
  clock.advance(2 * UNSEALED_MS_MAX);
  await overwriteRequest(own, request.id, pending);
  const sql = "update audit_seal set sealed_at = 9000000000000 where position < $1";
  await tamper(own, sql, older.size);
  const { message } = (await verifyAll(own, { older, isIncremental: true })).finding ?? {};
  const says = "its row has the status pending, but the log has denied";
  assert.equal(message, `request ${request.id}: ${says}`);
});

test("[ours.audit.since] a decided row with an id that no server makes is reported", async (t) => {
  const own = await startTwoParts(t);
  const newId = ENGINE === "sqlite" ? "cast(x'3030FF' as text)" : "'00'";
  const decided_at = own.scene.clock.now();
  await copyRequest(own.scene, own.late, newId, { status: "denied", decided_at });
  const { message = "" } = (await verifyAll(own.scene, own.kept)).finding ?? {};
  assert.match(message, /no server with the secret key of this database wrote its row$/);
});

test("[ours.audit.since] an opening that was sealed after the checkpoint, and its resolution before it, pass after the purge", async (t) => {
  const own = await startScene(t);
  const commitOpening = await sealResolutionFirst(own);
  const checkpoint = { older: await checkpointOf(own), isIncremental: true };
  await commitOpening();
  await untilPurgedAndSealed(own);
  await assertVerified(own, checkpoint);
});
