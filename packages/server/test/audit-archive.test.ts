import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { temporaryFolder } from "@countersign/testing/child";
import { StoredTree } from "../src/audit/stored-tree.ts";
import { consistencyRanges, isConsistent } from "../src/core/merkle.ts";
import { exportLog } from "../src/index.ts";
import { archiveAll, filesIn, verifyWith } from "./support/audit-archive.ts";
import { checkpointOf, logOf, storeOf, untilSealed } from "./support/audit-logs.ts";
import { type Scene, startScene } from "./support/scene.ts";

const NOTHING_FOUND = undefined;

/** Enough entries for a tile of 256, in several seals. */
const REQUESTS = 150;

async function submitMany(scene: Scene, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { id } = await scene.server.submit(scene.instance.token);
    await scene.server.decide(scene.reviewer, id, i % 2 === 0 ? "approve" : "deny");
    ids.push(id);
    if (i % 40 === 0) await untilSealed(scene);
  }
  await untilSealed(scene);
  return ids;
}

async function startFilled(t: TestContext, requests = REQUESTS) {
  const scene = await startScene(t);
  await submitMany(scene, requests);
  return { scene, store: storeOf(scene), directory: temporaryFolder(t) };
}

async function assertValid(scene: Scene, archive?: string): Promise<void> {
  const { finding, logs } = await verifyWith(scene, archive);
  assert.equal(finding, NOTHING_FOUND);
  assert.ok(logs.length > 0);
}

async function countEntries(scene: Scene): Promise<number> {
  const row = await storeOf(scene).get("select count(*) as n from audit_entry");
  return Number(row?.n);
}

test("[ours.audit-archive.files] an archive has the exact bytes of an export, and a second run continues it", async (t) => {
  const { scene, directory } = await startFilled(t);
  const first = await archiveAll(scene, { directory });
  const exported = await Array.fromAsync(exportLog(storeOf(scene), await logOf(scene)));
  const mine = first.find(({ project }) => project === "default");
  assert.ok(mine);
  const [file = ""] = filesIn(mine.folder);
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
  assert.deepEqual(lines, exported);
  await submitMany(scene, 3);
  const again = await archiveAll(scene, { directory });
  const next = again.find(({ project }) => project === "default");
  assert.equal(next?.written[0]?.from, mine.size);
  for (const { written } of await archiveAll(scene, { directory })) {
    assert.equal(written.length, 0);
  }
  assert.equal(filesIn(mine.folder).length, 2);
  await assertValid(scene, directory);
});

test("[ours.audit-archive.prune] after a prune the log verifies from its cut on, and with the archive as a whole", async (t) => {
  const { scene, store, directory } = await startFilled(t);
  const older = await checkpointOf(scene);
  const before = await countEntries(scene);
  const archives = await archiveAll(scene, { directory, prunes: true });
  const mine = archives.find(({ project }) => project === "default");
  assert.ok(mine && mine.pruned.to > 256);
  assert.ok((await countEntries(scene)) < before - 256);
  const { finding, logs } = await verifyWith(scene);
  assert.equal(finding, NOTHING_FOUND);
  const unsealed = logs.find(({ project }) => project === "default");
  assert.ok(unsealed?.pruned === mine.pruned.to && unsealed.notCompared >= REQUESTS);
  await submitMany(scene, 5);
  await assertValid(scene);
  const whole = await verifyWith(scene, directory, older);
  assert.equal(whole.finding, NOTHING_FOUND);
  const verified = whole.logs.find(({ project }) => project === "default");
  assert.deepEqual([verified?.archived, verified?.notCompared], [mine.pruned.to, 0]);
  const log = await logOf(scene);
  const tree = new StoredTree(store, log.projectId);
  const newer = await checkpointOf(scene);
  const proof = [];
  for (const range of consistencyRanges(older.size, newer.size)) {
    proof.push(await tree.hashOf(range));
  }
  assert.ok(isConsistent(older, newer, proof));
});

test("[ours.audit-archive.prune] several prunes with entries that stay, and sealing in between, keep the log valid", async (t) => {
  const { scene, store, directory } = await startFilled(t, 20);
  for (let i = 0; i < 4; i++) {
    await archiveAll(scene, { directory, prunes: true });
    await assertValid(scene);
    await submitMany(scene, 70);
    await assertValid(scene, directory);
  }
  const kept = await store.get("select count(*) as n from audit_entry where kind = 'audit.begun'");
  assert.equal(Number(kept?.n), 0);
});
