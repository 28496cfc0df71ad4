/**
 * Deletes archived entries of a log from the database. One entry `audit.pruned` allows it. After an
 * interruption, the next run continues.
 */

import { setTimeout as pause } from "node:timers/promises";
import { timeOfId, uuidV7 } from "@countersign/protocol";
import { appendAuditAs } from "../audit/append-audit.ts";
import { readCutOf, tiledBefore } from "../audit/pruned-part.ts";
import { systemRandom } from "../clock.ts";
import { type AuditCut, KEPT_KINDS, KeptDigest, type KeptEntry } from "../core/audit-cut.ts";
import { writeEntry } from "../core/audit-line.ts";
import type { SinkKind } from "../core/audit-stream.ts";
import { Frontier, hashLeaf, type Range } from "../core/merkle.ts";
import {
  allowCut,
  deleteEntries,
  deleteSeal,
  moveCut,
  readExistingIds,
} from "../storage/sql/audit/audit-cuts.ts";
import { readKeptEntries } from "../storage/sql/audit/audit-entries.ts";
import { lockLog, readLog, type StoredLog } from "../storage/sql/audit/audit-logs.ts";
import {
  insertSeal,
  readSealOf,
  readSeals,
  type StoredSeal,
  TILE_WIDTH,
} from "../storage/sql/audit/audit-seals.ts";
import { readStreamPositions } from "../storage/sql/audit/audit-streams.ts";
import type { Reader, Store, Transaction } from "../storage/store.ts";
import { assertContained, failure, UnchangedFiles, type VerifiedFile } from "./archive-files.ts";
import { type ArchivedLog, subtreesAt } from "./archive-log.ts";

/** Limits of one transaction; requests are decided in between. */
const [ENTRIES_PER_SLICE, SEALS_PER_SLICE] = [256, 64];

/** A seal has up to 256 hashes, and a slice may need only one seal. */
const SEALS_PER_STEP = 2;

/** A slice of 10 ms is followed by a pause of 30 ms. */
const PAUSE_FACTOR = 3;

const SEALS_PER_READ = 64;

export interface PruneOptions {
  readonly archived: Pick<ArchivedLog, "files" | "kept">;
  /** Epoch ms: prunes entries that were sealed earlier. */
  readonly before: number;
  /** Destinations of the audit stream in the settings. */
  readonly sinks: readonly SinkKind[];
  /** Destinations that no longer receive the stream. */
  readonly without: readonly SinkKind[];
  /** Called before and after each slice with the position of the cut. */
  readonly onProgress?: (position: number) => void;
}

/**
 * @returns the new cut: the position of the first entry that stays
 * @throws Failure when a stream has not sent the entries, or the log is damaged; nothing is deleted
 * then
 */
export async function pruneLog(
  store: Store,
  { projectId }: Pick<StoredLog, "projectId">,
  options: PruneOptions,
): Promise<number> {
  const end = options.archived.files.at(-1)?.to ?? 0;
  for (;;) {
    const log = await readLog(store, projectId);
    if (log === undefined) throw failure("the log does not exist");
    const allowed = await readCutOf(store, log);
    const isUnfinished = allowed !== undefined && allowed.size > log.pruned;
    if (isUnfinished && allowed.size > end) {
      throw failure(`an interrupted run pruned entries up to ${allowed.size}: give its archive`);
    }
    if (isUnfinished) {
      await deleteUpTo(store, log, allowed, options);
    } else if (!(await allowNext(store, log, allowed, options))) return log.pruned;
  }
}

/** @returns false when there is nothing to prune */
async function allowNext(
  store: Store,
  log: StoredLog,
  last: AuditCut | undefined,
  { archived, before, sinks, without }: PruneOptions,
): Promise<boolean> {
  const { projectId, origin, pruned: from } = log;
  const target = await findTarget(store, log, archived.files.at(-1)?.to ?? 0, before);
  if (target === undefined) return false;
  const { size } = target;
  const files = within(archived.files, { from, to: size });
  assertContained(files, { from, to: size });
  await UnchangedFiles.of(files);
  await assertSent(store, log, size, sinks, without);
  const isInRange = ({ position }: KeptEntry) => position < size;
  const kept = (await readKept(store, log)).filter(isInRange);
  assertKept(kept, archived.kept.filter(isInRange), last);
  const root = new Frontier(size, await subtreesAt(store, log, size)).root();
  const detail = {
    entries: size - from,
    size,
    root: Buffer.from(root).toString("base64"),
    kept_sha256: digestOf(kept),
    files: files.map((file) => `${file.sha256} ${file.from}-${file.to}`),
  };
  await store.transact(async (tx) => {
    await assertCurrent(tx, log);
    const at = await tx.now();
    const id = uuidV7(at, systemRandom().bytes(10));
    await appendAuditAs(tx, id, {
      at,
      projectId,
      kind: "audit.pruned",
      actor: "operator:cli",
      subject: `audit:${origin}`,
      // An id can have a time from far ahead.
      detail: { ...detail, until: Math.min(at, target.until) },
    });
    await allowCut(tx, projectId, id);
  });
  return true;
}

/** The last seal that is archived and old enough. */
async function findTarget(
  reader: Reader,
  { projectId, pruned }: StoredLog,
  end: number,
  before: number,
): Promise<Pick<AuditCut, "size" | "until"> | undefined> {
  let target: Pick<AuditCut, "size" | "until"> | undefined;
  for (let position = pruned; position < end; ) {
    const seals = await readSeals(reader, projectId, position, SEALS_PER_READ);
    for (const { entries, sealedAt, lastId } of seals) {
      position += entries;
      if (position > end || sealedAt >= before) return target;
      const until = Math.max(sealedAt, timeOfId(lastId) ?? 0, target?.until ?? 0);
      target = { size: position, until };
    }
    if (seals.length === 0) return target;
  }
  return target;
}

async function assertSent(
  reader: Reader,
  { projectId, origin }: StoredLog,
  size: number,
  sinks: readonly SinkKind[],
  without: readonly SinkKind[],
): Promise<void> {
  const positions = await readStreamPositions(reader, projectId);
  for (const sink of new Set([...sinks, ...positions.keys()])) {
    const sent = positions.get(sink) ?? 0;
    if (without.includes(sink) || sent >= size) continue;
    throw failure(
      `the audit stream to ${sink} has sent ${sent} of ${size} entries to prune of ${origin}: ` +
        `wait, or give --without-stream ${sink} if it is no longer used`,
    );
  }
}

/** The sealed entries that stay, from their rows, by position. */
async function readKept(reader: Reader, { projectId }: StoredLog): Promise<KeptEntry[]> {
  const kept: KeptEntry[] = [];
  for (const entry of await readKeptEntries(reader, projectId)) {
    const seal = await readSealOf(reader, projectId, entry.id);
    const index = seal?.ids.indexOf(entry.id) ?? -1;
    if (seal === undefined) continue;
    kept.push({ position: seal.position + index, leaf: hashLeaf(writeEntry(entry)) });
  }
  return kept.sort((a, b) => a.position - b.position);
}

/**
 * After a prune, only the digest of the entries that stay is left to verify them by. So their rows
 * must be what the last cut has a digest of, and what the archive has.
 *
 * @throws Failure when one was removed or altered
 */
function assertKept(
  kept: readonly KeptEntry[],
  archived: readonly KeptEntry[],
  last: AuditCut | undefined,
): void {
  const isBefore = ({ position }: KeptEntry) => position < (last?.size ?? 0);
  const before = kept.filter(isBefore);
  const isSame = last === undefined || digestOf(before) === last.keptSha256;
  const rows = kept.slice(before.length);
  if (isSame && digestOf(rows) === digestOf(archived.filter((entry) => !isBefore(entry)))) return;
  const message = `entries ${KEPT_KINDS.join(", ")} are missing or were altered`;
  throw failure(`${message}: run countersign audit verify`);
}

function digestOf(kept: readonly KeptEntry[]): string {
  const digest = new KeptDigest();
  for (const { position, leaf } of kept) digest.add(position, leaf);
  return digest.hex();
}

function within(files: readonly VerifiedFile[], { from, to }: Range): VerifiedFile[] {
  return files.filter((file) => file.from < to && file.to > from);
}

async function deleteUpTo(
  store: Store,
  log: StoredLog,
  { size }: AuditCut,
  { archived, onProgress }: PruneOptions,
): Promise<void> {
  const range = { from: log.pruned, to: size };
  assertContained(archived.files, range);
  const files = await UnchangedFiles.of(within(archived.files, range));
  onProgress?.(log.pruned);
  for (let { pruned } = log; pruned < size; ) {
    const startedAt = performance.now();
    files.assert();
    const from = pruned;
    pruned = await store.transact((tx) => deleteSlice(tx, { ...log, pruned: from }, size));
    onProgress?.(pruned);
    await pause(PAUSE_FACTOR * (performance.now() - startedAt));
  }
  // The exit code reports a loss during the last slice, too.
  files.assert();
}

/** @returns the new cut */
async function deleteSlice(tx: Transaction, log: StoredLog, size: number): Promise<number> {
  const { projectId, pruned: from } = log;
  await assertCurrent(tx, log);
  let end = from;
  for (let seals = 0; seals < SEALS_PER_SLICE; seals++) {
    const [seal] = await readSeals(tx, projectId, end, 1);
    if (seal?.position !== end || end >= size) break;
    if (end > from && end + seal.entries - from > ENTRIES_PER_SLICE) break;
    await deleteEntries(tx, projectId, seal.ids);
    end += seal.entries;
  }
  if (end === from) throw failure(`there is no seal at ${from}: run countersign audit verify`);
  await deleteSeals(tx, projectId, { from: tiledBefore(from), to: tiledBefore(end) });
  await moveCut(tx, projectId, end);
  return end;
}

/**
 * Deletes the seals whose hashes are all in tiles. Each entry that stays gets a seal of its own.
 *
 * @param range tiles
 */
async function deleteSeals(
  tx: Transaction,
  projectId: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  // A seal that ends in the range can start before it.
  let position = Math.max(0, from - TILE_WIDTH);
  while (position < to) {
    const seals = await readSeals(tx, projectId, position, SEALS_PER_STEP);
    for (const seal of seals) {
      if (seal.position + seal.entries > to) return;
      await splitSeal(tx, seal);
      position = seal.position + seal.entries;
    }
    if (seals.length === 0) return;
  }
}

async function splitSeal(tx: Transaction, seal: StoredSeal): Promise<void> {
  const { projectId, ids, hashes } = seal;
  const kept = await readExistingIds(tx, projectId, ids);
  await deleteSeal(tx, projectId, seal.position);
  for (const [i, id] of ids.entries()) {
    const hash = hashes[i];
    if (!kept.has(id) || hash === undefined) continue;
    await insertSeal(tx, {
      ...seal,
      position: seal.position + i,
      entries: 1,
      firstId: id,
      lastId: id,
      ids: [id],
      hashes: [hash],
    });
  }
}

/** @throws Failure when another run was first */
async function assertCurrent(
  tx: Transaction,
  { projectId, pruned, prunedBy }: StoredLog,
): Promise<void> {
  const log = await lockLog(tx, projectId);
  if (log?.pruned === pruned && log.prunedBy === prunedBy) return;
  throw failure("another run prunes this log");
}
