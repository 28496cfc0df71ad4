import assert from "node:assert/strict";
import { test } from "node:test";
import { uuidV7 } from "@countersign/protocol";
import { systemRandom } from "../src/clock.ts";
import { writeEntry } from "../src/core/audit-line.ts";
import { Frontier, hashLeaf } from "../src/core/merkle.ts";
import {
  claimRescans,
  RESCAN_EVERY_MS,
  RESCAN_LEASE_MS,
} from "../src/operations/audit/claimRescans.ts";
import { type RecentSeal, sealEntries } from "../src/operations/audit/sealEntries.ts";
import { RecentlyUsed } from "../src/recently-used.ts";
import type { OpenKeys } from "../src/steps/audit/appendSealed.ts";
import { macOfEntry, readEntriesAfter } from "../src/storage/sql/audit/audit-entries.ts";
import { updateLog } from "../src/storage/sql/audit/audit-logs.ts";
import type { Transaction } from "../src/storage/store.ts";
import {
  assertAllOnce,
  assertVerified,
  checkpointOf,
  countUnsealed,
  type Logged,
  logOf,
  projectId,
  sealedIds,
  storeOf,
  tamper,
  untilSealed,
  verifyAll,
} from "./support/audit-logs.ts";
import { SetClock } from "./support/notifications.ts";
import { end, startScene, TERMINAL } from "./support/scene.ts";
import { turns } from "./support/until.ts";

const random = systemRandom();

/** Writes an entry as a server does, with this time in its id. */
async function write(tx: Transaction, at: number, project: string, detail = "{}"): Promise<string> {
  const id = uuidV7(at, random.bytes(10));
  const content = { kind: "test.late", actor: "operator:cli", subject: "test:1", detail };
  const mac = macOfEntry(tx.integrity, { ...content, projectId: project, id, at });
  await tx.run(
    `insert into audit_entry (id, at, project_id, kind, actor, subject, detail, mac)
     values ($1, $2, $3, 'test.late', 'operator:cli', 'test:1', $4, $5)`,
    [id, at, project, detail, mac],
  );
  return id;
}

/** An entry that was committed now, whatever the time in its id. */
function insertEntry(scene: Logged, at: number, project: string): Promise<string> {
  return storeOf(scene).transact((tx) => write(tx, at, project));
}

test("[ours.audit.sealed] entries are sealed in the order in which the sealer finds them, and the checkpoint has the root of the rows", async (t) => {
  const scene = await startScene(t);
  for (const status of TERMINAL)
    await end(scene, await scene.server.submit(scene.instance.token), status);
  await scene.server.instance("another");
  await untilSealed(scene);
  await assertVerified(scene);
  const store = storeOf(scene);
  for (const name of ["default", "another"]) {
    const log = await logOf(scene, name);
    const rows = await readEntriesAfter(store, log.projectId, "", 1_000);
    assert.equal(rows.length, log.size);
    const frontier = new Frontier();
    for (const id of await sealedIds(store, log.projectId)) {
      const row = rows.find((entry) => entry.id === id);
      assert.ok(row);
      frontier.append(hashLeaf(writeEntry(row)));
    }
    const [origin, size, root] = log.checkpoint.split("\n");
    assert.match(origin ?? "", new RegExp(`^countersign/audit/${log.projectId}/[0-9a-f]{16}$`));
    assert.deepEqual(
      [size, root],
      [`${log.size}`, Buffer.from(frontier.root()).toString("base64")],
    );
    assert.equal(rows.filter(({ kind }) => kind === "audit.begun").length, 1);
  }
  assert.equal((await verifyAll(scene)).logs.length, 2);
});

test("[ours.audit.sealed] entries from before the log are sealed, for any number and age", async (t) => {
  const scene = await startScene(t);
  const store = storeOf(scene);
  const project = await projectId(store);
  const startedAt = scene.clock.now() - 400 * 24 * 3_600_000;
  await store.transact(async (tx) => {
    for (let i = 0; i < 1_500; i++) {
      const at = startedAt + (i < 1_490 ? i : i * 60_000);
      await write(tx, at, project, '{"n":1e400}');
    }
  });
  await untilSealed(scene);
  await assertAllOnce(store);
  await assertVerified(scene);
  const [late] = (await verifyAll(scene)).logs;
  assert.equal(late?.late, 0);
});

test("[ours.audit.late] an entry committed slightly late is sealed with the next one, a later one within minutes, and the rest by the daily full scan", async (t) => {
  const scene = await startScene(t);
  const { clock } = scene;
  const store = storeOf(scene);
  const project = await projectId(store);
  await untilSealed(scene);
  const enteredAt = clock.now();
  await insertEntry(scene, enteredAt - 1_500, project);
  await untilSealed(scene);
  assert.ok(clock.now() - enteredAt < 60_000, "before the rescan of every five minutes");

  const minutes = await insertEntry(scene, clock.now() - 4 * 60_000, project);
  const days = await insertEntry(scene, clock.now() - 3 * 24 * 3_600_000, project);
  await scene.server.submit(scene.instance.token);
  await untilSealed(scene, 2);
  clock.advance(5 * 60_000);
  await untilSealed(scene, 1);
  assert.ok((await sealedIds(store, project)).includes(minutes));
  assert.equal((await verifyAll(scene)).finding?.id, days);
  clock.advance(24 * 3_600_000);
  await untilSealed(scene);
  await assertAllOnce(store);
  await assertVerified(scene);
  assert.equal((await verifyAll(scene)).logs[0]?.late, 0, "older than the log itself");
});

test("[ours.audit.late] interrupted rescans are repeated, and leave nothing to the daily full scan", async (t) => {
  const scene = await startScene(t);
  const { clock } = scene;
  const { context } = scene.server.provider;
  const store = storeOf(scene);
  const project = await projectId(store);
  await untilSealed(scene);
  // Behind the sealed entries, where only a rescan finds it.
  await insertEntry(scene, clock.now() - 4 * 60_000, project);
  clock.stop(RESCAN_EVERY_MS);
  // Begun, and its process is killed.
  assert.equal((await claimRescans(context)).length, 1);
  clock.stop(RESCAN_LEASE_MS - 1);
  assert.deepEqual(await claimRescans(context), [], "another process may be rescanning");
  for (let lost = 0; lost < 20; lost++) {
    clock.stop(RESCAN_LEASE_MS);
    assert.equal((await claimRescans(context)).length, 1);
  }
  assert.equal((await verifyAll(scene)).finding?.fault, "unsealed");
  clock.advance(RESCAN_LEASE_MS);
  await untilSealed(scene);
  await assertAllOnce(store);
  await assertVerified(scene);
  clock.stop(RESCAN_LEASE_MS);
  assert.deepEqual(await claimRescans(context), [], "the last one has ended");
});

test("[ours.audit.late] a resumed full scan close to the end also covers recent entries", async (t) => {
  const scene = await startScene(t);
  const { clock } = scene;
  const store = storeOf(scene);
  const project = await projectId(store);
  await untilSealed(scene);
  const late = await insertEntry(scene, clock.now() - 4 * 60_000, project);
  await tamper(
    scene,
    "update audit_log set full_scan_id = sealed_id, full_scan_at = 0 where project_id = $1",
    project,
  );
  // No server scanned for longer than a rescan reaches back.
  clock.stop(30 * 60_000);
  const [rescan] = await claimRescans(scene.server.provider.context);
  assert.ok(rescan?.isFullScan);
  assert.ok(rescan.range.after < late);
});

test("[ours.audit.late] entries of a clock that was set back or ahead are sealed, and none twice", async (t) => {
  const clock = new SetClock();
  const scene = await startScene(t, { clock });
  const { server, instance } = scene;
  await server.submit(instance.token);
  await untilSealed(scene);
  for (const shift of [-3_600_000, 7_200_000, -60_000, -7_200_000, 3 * 3_600_000]) {
    clock.setBy += shift;
    for (let n = 0; n < 2; n++) {
      await server.submit(instance.token, { timeout: "160h" });
      await untilSealed(scene);
    }
  }
  await assertAllOnce(storeOf(scene));
});

test("[ours.audit.late] [ours.audit.sealed] two concurrent sealers seal each entry once, for any order of commits", async (t) => {
  const scene = await startScene(t);
  const { server, clock } = scene;
  const { context } = server.provider;
  const store = storeOf(scene);
  const project = await projectId(store);
  const sealers = [0, 1].map(() => ({
    keys: new RecentlyUsed(10) as OpenKeys,
    recentSeal: undefined as RecentSeal | undefined,
  }));
  const rounds = 40;
  for (let round = 0; round < rounds; round++) {
    clock.stop(300);
    const inserting = Array.from({ length: 8 }, (_, i) =>
      insertEntry(scene, clock.now() - ((i * 613 + round * 97) % 1_900), project),
    );
    const sealing = sealers.map(async (sealer) => {
      let next: string | undefined;
      do {
        const { keys } = sealer;
        const step = await sealEntries(context, keys, project, sealer.recentSeal, next);
        [sealer.recentSeal, next] = [step.recentSeal, step.next];
      } while (next !== undefined);
    });
    await Promise.all([...inserting, ...sealing]);
  }
  await untilSealed(scene);
  await assertAllOnce(store);
  await assertVerified(scene);
});

test("[ours.audit.sealed] a cached seal that the database has lost makes the server seal no entry twice", async (t) => {
  const scene = await startScene(t);
  const { context } = scene.server.provider;
  const store = storeOf(scene);
  await untilSealed(scene);
  const before = await logOf(scene);
  const { projectId: project, size } = before;
  const keys: OpenKeys = new RecentlyUsed(10);
  const seal = (recent?: RecentSeal) => sealEntries(context, keys, project, recent);
  const lost = await insertEntry(scene, scene.clock.now(), project);
  const { recentSeal } = await seal();
  assert.ok(recentSeal);
  // As after a failover to a standby that had not received it.
  await tamper(
    scene,
    "delete from audit_seal where project_id = $1 and position >= $2",
    project,
    size,
  );
  await tamper(scene, "delete from audit_entry where project_id = $1 and id = $2", project, lost);
  await store.transact((tx) => updateLog(tx, before));
  await insertEntry(scene, scene.clock.now(), project);
  await seal();
  await seal(recentSeal);
  await assertAllOnce(store);
  await assertVerified(scene);
});

test("[ours.audit.sealed] a failed seal is rolled back, and a log without its key is sealed when the key is available again", async (t) => {
  const scene = await startScene(t);
  const store = storeOf(scene);
  await untilSealed(scene);
  const { projectId: project, encryptedPrivateKey } = await logOf(scene);
  const before = await checkpointOf(scene);
  const set = (key: string) =>
    store.transact((tx) =>
      tx.run("update audit_log set encrypted_private_key = $2 where project_id = $1", [
        project,
        key,
      ]),
    );
  await set("00000000.AAAA");
  // A process that sealed recently has opened the key already.
  const request = await scene.server.submit(scene.instance.token);
  for (let i = 0; i < 3; i++) {
    scene.clock.advance(1_000);
    await turns();
  }
  assert.deepEqual(await checkpointOf(scene), before);
  assert.equal(await countUnsealed(store), 1);
  assert.equal((await scene.server.read(scene.instance.token, request.id)).status, "pending");
  await set(encryptedPrivateKey);
  await untilSealed(scene);
  await assertVerified(scene, { older: before });
});
