/**
 * Shared steps of tests about the sealed audit log: waiting until it is sealed, verifying it as
 * the command does, and reading its entries.
 */

import assert from "node:assert/strict";
import { eventually } from "@countersign/testing/eventually";
import type { StoredEntry } from "../../src/core/audit-line.ts";
import { type Checkpoint, readCheckpoint, type Verifier, verifyDatabase } from "../../src/index.ts";
import { macOfEntry } from "../../src/storage/sql/audit/audit-entries.ts";
import { readLog, type StoredLog } from "../../src/storage/sql/audit/audit-logs.ts";
import type { SqlValue, Store } from "../../src/storage/store.ts";
import { insertRow } from "./rows.ts";
import { countRequests, end, type Scene } from "./scene.ts";
import { turns, until } from "./until.ts";

export type Logged = Pick<Scene, "server" | "clock">;

export function storeOf({ server }: Pick<Scene, "server">): Store {
  return server.provider.context.store;
}

/** Batches that are sealed while one second passes. */
const BATCHES_PER_SECOND = 5;

/** Lets the workers go on until every entry is sealed, or as many as are said not to be. */
export async function untilSealed(scene: Logged, left = 0): Promise<void> {
  await until(async () => {
    scene.clock.advance(1_000);
    // No second passes before what the last one was for is done, on whatever disk.
    for (let batch = 0; batch < BATCHES_PER_SECOND; batch++) {
      await turns();
      scene.clock.advance(2);
    }
    return (await countUnsealed(storeOf(scene))) === left;
  }, `all entries are sealed but ${left}`);
}

/** Waits for the server processes that seal. */
export async function untilAllSealed(store: Store): Promise<void> {
  const isSealed = async () => ((await countUnsealed(store)) === 0 ? true : undefined);
  await eventually("everything is sealed", isSealed);
}

export async function countUnsealed(store: Store): Promise<number> {
  if ((await store.get("select 1 from audit_log where pruned > 0")) !== undefined) {
    return countWithoutSeal(store);
  }
  const entries = await store.get("select count(*) as n from audit_entry");
  const sealed = await store.get(
    `select coalesce(sum(size), 0) as n from audit_log
     where project_id in (select project_id from audit_entry)`,
  );
  return Number(entries?.n) - Number(sealed?.n);
}

/** As {@link countUnsealed}, for logs that have fewer rows than sealed entries. */
async function countWithoutSeal(store: Store): Promise<number> {
  const seals = await store.all("select ids from audit_seal");
  const sealed = new Set(seals.flatMap(({ ids }) => String(ids).split(" ")));
  const rows = await store.all("select id from audit_entry");
  return rows.filter(({ id }) => !sealed.has(String(id))).length;
}

/** The id of a project. */
export async function projectId(store: Store, name = "default"): Promise<string> {
  return String((await store.get("select id from project where name = $1", [name]))?.id);
}

export async function logOf(scene: Pick<Scene, "server">, project = "default"): Promise<StoredLog> {
  const store = storeOf(scene);
  const log = await readLog(store, await projectId(store, project));
  assert.ok(log, `${project} has no log`);
  return log;
}

export async function checkpointOf(scene: Pick<Scene, "server">): Promise<Checkpoint> {
  const checkpoint = readCheckpoint((await logOf(scene)).checkpoint);
  assert.ok(checkpoint);
  return checkpoint;
}

export interface Kept {
  readonly verifier?: Verifier;
  readonly older?: Checkpoint;
  readonly isIncremental?: boolean;
}

/** As `countersign audit verify` does. */
export async function verifyAll(scene: Logged, kept: Kept = {}) {
  const reader = storeOf(scene);
  const log = (name = "") => logOf(scene, name);
  return verifyDatabase({ reader, clock: scene.clock, log }, kept);
}

/** @throws when anything is wrong with any log */
export async function assertVerified(scene: Logged, kept: Kept = {}): Promise<void> {
  const { finding, logs } = await verifyAll(scene, kept);
  assert.equal(finding, undefined);
  assert.ok(logs.length > 0);
}

/** Changes the database behind the server's back. */
export async function tamper(
  scene: Pick<Scene, "server">,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<void> {
  const changed = await storeOf(scene).transact((tx) => tx.run(sql, values));
  assert.ok(changed > 0, sql);
}

/** Ids in the order of the log. */
export async function sealedIds(store: Store, project: string): Promise<string[]> {
  const sql = "select ids from audit_seal where project_id = $1 order by position";
  return (await store.all(sql, [project])).flatMap(({ ids }) => String(ids).split(" "));
}

/** Every entry is in its log exactly once. */
export async function assertAllOnce(store: Store): Promise<void> {
  const rows = await store.all("select project_id, id from audit_entry");
  for (const project of new Set(rows.map((row) => String(row.project_id)))) {
    const ids = rows.filter((row) => row.project_id === project).map(({ id }) => String(id));
    assert.deepEqual((await sealedIds(store, project)).sort(), ids.sort());
  }
}

/** Gives every entry its MAC again, as an insider with the secret key could after changing some. */
export async function authenticateEntries(scene: Pick<Scene, "server">): Promise<void> {
  const sql = "select project_id, id, at, kind, actor, subject, detail from audit_entry";
  await storeOf(scene).transact(async (tx) => {
    for (const row of await tx.all(sql)) {
      const { project_id: projectId = null, id = null, at, kind, actor, subject, detail } = row;
      const content = { at: Number(at), kind, actor, subject, detail };
      const mac = macOfEntry(tx.integrity, { projectId, id, ...content } as StoredEntry);
      const update = "update audit_entry set mac = $3 where project_id = $1 and id = $2";
      await tx.run(update, [projectId, id, mac]);
    }
  });
}

/**
 * Ends a request whose opening is not committed yet: its resolution is sealed first.
 *
 * @returns commits the opening
 */
export async function sealResolutionFirst(scene: Scene): Promise<() => Promise<void>> {
  const { server, instance, clock } = scene;
  const request = await server.submit(instance.token);
  const rows = "from audit_entry where subject = $1 and kind = 'request.opened'";
  const subject = `request:${request.id}`;
  const opening = await storeOf(scene).get(`select * ${rows}`, [subject]);
  assert.ok(opening);
  await tamper(scene, `delete ${rows}`, subject);
  clock.advance(1);
  await end(scene, request, "denied");
  await untilSealed(scene);
  return () => storeOf(scene).transact((tx) => insertRow(tx, "audit_entry", opening));
}

const HOUR_MS = 3_600_000;

/** Lets the time pass until all requests are purged; late entries are sealed by a daily scan. */
export async function untilPurgedAndSealed(scene: Scene): Promise<void> {
  await until(async () => {
    scene.clock.advance(HOUR_MS);
    await turns();
    return (await countRequests(scene)) === 0 && (await countUnsealed(storeOf(scene))) === 0;
  }, "all requests are purged, and all entries are sealed");
}
