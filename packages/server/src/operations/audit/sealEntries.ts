import { firstIdAt, timeOfId } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import {
  appendSealed,
  batchOf,
  type OpenKeys,
  sealedIdAfter,
} from "../../steps/audit/appendSealed.ts";
import { createAuditLog } from "../../steps/audit/createAuditLog.ts";
import {
  readEntriesBetween,
  readEntryIds,
  sealableEntries,
} from "../../storage/sql/audit/audit-entries.ts";
import { lockLog, type StoredLog } from "../../storage/sql/audit/audit-logs.ts";
import { readSealedIds, readSealedIdsAfter } from "../../storage/sql/audit/audit-seals.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * How far before the last sealed entry the search starts: the usual delay between the time in an id
 * and its commit. {@link sealLateEntries} finds later ones.
 */
export const OVERLAP_MS = 2_000;

/** Ids to read at the start of a round. Most of them are sealed. */
const IDS_AT_FIRST_MAX = 1_024;

/** Ids to read later in a round. Few of them are sealed. */
const IDS_PER_CALL_MAX = 256;

/**
 * The state of a log at a checkpoint, which saves reading it again. For one call, which returns the
 * next one.
 */
export interface RecentSeal {
  /** Identifies the sealed entries, also after a part of the log was lost and sealed again. */
  readonly checkpoint: string;
  /** All sealed ids after this one are in `ids`. */
  readonly after: string;
  /** Grows with each seal; see {@link rememberBatch}. */
  readonly ids: Set<string>;
  /** Size of `ids` after the last cleanup. */
  readonly kept: number;
}

export interface SealStep {
  readonly sealed: number;
  /** Cursor of the next step; undefined at the end. */
  readonly next: string | undefined;
  /** Undefined when it would not help the next call. */
  readonly recentSeal: RecentSeal | undefined;
}

/**
 * Seals the next entries of a log. It locks the log, and reads the sealed ids from the seals, so
 * any replica can call it. An interruption has no effect.
 *
 * Entries are not committed in the order of their ids, so the order in the log is the order in
 * which they were found.
 *
 * @param recentSeal from an earlier call for this log
 * @param next from an earlier call of the same round
 * @throws Failure `secret-key` when the key of the log cannot be decrypted
 */
export async function sealEntries(
  context: Context,
  keys: OpenKeys,
  projectId: string,
  recentSeal?: RecentSeal,
  next?: string,
): Promise<SealStep> {
  const { batch, isAll, last, known, log, window, now } = await context.store.transact((tx) =>
    sealSome(tx, context, keys, projectId, recentSeal, next),
  );
  return {
    sealed: batch.length,
    next: isAll ? undefined : last,
    recentSeal: window.upTo === undefined ? rememberBatch(log, known, batch, now) : undefined,
  };
}

interface Sealed {
  readonly batch: readonly string[];
  readonly isAll: boolean;
  /** The last id that was read. */
  readonly last: string | undefined;
  readonly known: Known;
  readonly log: StoredLog;
  readonly window: Window;
  readonly now: number;
}

async function sealSome(
  tx: Transaction,
  context: Context,
  keys: OpenKeys,
  projectId: string,
  recentSeal: RecentSeal | undefined,
  next: string | undefined,
): Promise<Sealed> {
  const log = (await lockLog(tx, projectId)) ?? (await createAuditLog(tx, context, projectId));
  const now = await tx.now();
  const window = windowOf(log, now, next);
  const known = await sealedIn(tx, log, window, recentSeal);
  const limit = next === undefined ? IDS_AT_FIRST_MAX : IDS_PER_CALL_MAX;
  const ids = await idsIn(tx, projectId, window, limit);
  const batch = batchOf(ids.filter((id) => !known.ids.has(id)));
  const [first, last] = [batch[0], batch.at(-1)];
  const isShort = ids.length < limit;
  if (first === undefined || last === undefined) {
    return { batch, isAll: isShort, last: ids.at(-1), known, log, window, now };
  }
  const found = await readEntriesBetween(tx, projectId, first, last);
  const byId = new Map(found.map((entry) => [entry.id, entry]));
  const wanted = batch.flatMap((id) => byId.get(id) ?? []);
  const entries = sealableEntries(tx, wanted, now);
  const isAll = isShort && last === ids.at(-1);
  if (entries.length === 0) return { batch: [], isAll, last, known, log, window, now };
  const from = { ...log, sealedId: sealedIdAfter(log.sealedId, batch, now) };
  const sealed = await appendSealed(tx, context, keys, from, entries, now);
  const sealedIds = entries.map(({ id }) => id);
  return { batch: sealedIds, isAll, last, known, log: sealed, window, now };
}

/** Sealed ids: all ids after one, or with `upTo` at least those of the window. */
type Known = Pick<RecentSeal, "after" | "ids" | "kept">;

/**
 * Adds sealed ids. Deletes those before later windows once they may be half of the set, because
 * scanning all of them at each seal would cost more than the seal.
 */
function rememberBatch(
  { checkpoint, sealedId }: StoredLog,
  known: Known,
  batch: readonly string[],
  now: number,
): RecentSeal {
  for (const id of batch) known.ids.add(id);
  if (known.ids.size < 2 * known.kept) return { ...known, checkpoint };
  const start = startOf(sealedId, now - OVERLAP_MS);
  const after = start > known.after ? start : known.after;
  const ids = new Set([...known.ids].filter((id) => id > after));
  return { checkpoint, after, ids, kept: ids.size };
}

/** Start and end of the search for entries. */
interface Window {
  readonly after: string;
  /** Undefined unless the clock was set back. Then the log has ids with later times. */
  readonly upTo: string | undefined;
  /** Beyond `upTo`, only ids after this one. */
  readonly ahead: string;
}

function windowOf({ sealedId }: StoredLog, now: number, next: string | undefined): Window {
  const isAhead = (timeOfId(sealedId) ?? 0) > now + OVERLAP_MS;
  const after = next ?? startOf(sealedId, now);
  return {
    after,
    upTo: isAhead ? firstIdAt(now + OVERLAP_MS) : undefined,
    ahead: after > sealedId ? after : sealedId,
  };
}

function startOf(sealedId: string, now: number): string {
  return firstIdAt(Math.min(timeOfId(sealedId) ?? 0, now) - OVERLAP_MS);
}

async function idsIn(
  tx: Transaction,
  projectId: string,
  { after, upTo, ahead }: Window,
  limit: number,
): Promise<string[]> {
  if (upTo === undefined) return readEntryIds(tx, projectId, { after }, limit);
  const near = await readEntryIds(tx, projectId, { after, upTo }, limit);
  const room = limit - near.length;
  if (room === 0) return near;
  return [...near, ...(await readEntryIds(tx, projectId, { after: ahead }, room))];
}

async function sealedIn(
  tx: Transaction,
  { projectId, checkpoint }: StoredLog,
  { after, upTo, ahead }: Window,
  recentSeal: RecentSeal | undefined,
): Promise<Known> {
  if (upTo !== undefined) {
    const near = await readSealedIds(tx, projectId, after, upTo);
    const ids = new Set([...near, ...(await readSealedIdsAfter(tx, projectId, ahead))]);
    return { after, ids, kept: ids.size };
  }
  const isCurrent = recentSeal?.checkpoint === checkpoint && recentSeal.after <= after;
  if (isCurrent) return recentSeal;
  const ids = await readSealedIdsAfter(tx, projectId, after);
  return { after, ids, kept: ids.size };
}
