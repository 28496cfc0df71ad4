import { firstIdAt, timeOfId } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import {
  appendSealed,
  batchOf,
  type OpenKeys,
  sealedIdAfter,
} from "../../steps/audit/appendSealed.ts";
import { beginAuditLog } from "../../steps/audit/beginAuditLog.ts";
import {
  readEntriesBetween,
  readEntryIds,
  sealableEntries,
} from "../../storage/sql/audit/audit-entries.ts";
import { lockLog, type StoredLog } from "../../storage/sql/audit/audit-logs.ts";
import { readSealedIds, readSealedIdsAfter } from "../../storage/sql/audit/audit-seals.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * How long before the last one that was sealed others are looked for: as long as it mostly takes
 * from the time in an id to its commit. What takes longer is found by {@link sealLateEntries}.
 */
export const OVERLAP_MS = 2_000;

/** Ids that are read at the beginning of a round, most of which may be sealed. */
const IDS_AT_FIRST_MAX = 1_024;

/** Ids that are read later in a round, of which few are. */
const IDS_PER_CALL_MAX = 256;

/**
 * What is known of a log, as of a checkpoint of it, so that it need not be read again. For one
 * call, which makes the next of it.
 */
export interface RecentSeal {
  /** Says all that is sealed, also where the log has lost some of it and grown again since. */
  readonly checkpoint: string;
  /** All that are sealed with ids behind this one are in `ids`. */
  readonly after: string;
  /** Grows with what is sealed; see {@link rememberBatch}. */
  readonly ids: Set<string>;
  /** How many there were when some were last forgotten. */
  readonly kept: number;
}

export interface SealStep {
  readonly sealed: number;
  /** Where to go on; undefined when everything was seen. */
  readonly next: string | undefined;
  /** Undefined when what was read says little about the next time. */
  readonly recentSeal: RecentSeal | undefined;
}

/**
 * Seals the next entries of a log, whichever replica gets there first: it holds the log meanwhile,
 * and the seals say what is in it. Ended anywhere, nothing has happened.
 *
 * Entries are committed in another order than that of their ids, so they stand in the log in the
 * order in which they were found.
 *
 * @param recentSeal what an earlier call returned for this log
 * @param next where an earlier call of the same round ended
 * @throws Failure `secret-key` when the key of the log cannot be opened
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
  const log = (await lockLog(tx, projectId)) ?? (await beginAuditLog(tx, context, projectId));
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

/** Ids that are sealed: all of those behind one, or with `upTo` at least those of the window. */
type Known = Pick<RecentSeal, "after" | "ids" | "kept">;

/**
 * Adds what was sealed. What no later window reaches back to is forgotten when that may be half of
 * it: to scan all of them at each seal would cost more than the seal.
 */
function rememberBatch(
  { checkpoint, sealedId }: StoredLog,
  known: Known,
  batch: readonly string[],
  now: number,
): RecentSeal {
  for (const id of batch) known.ids.add(id);
  if (known.ids.size < 2 * known.kept) return { ...known, checkpoint };
  const begin = beginOf(sealedId, now - OVERLAP_MS);
  const after = begin > known.after ? begin : known.after;
  const ids = new Set([...known.ids].filter((id) => id > after));
  return { checkpoint, after, ids, kept: ids.size };
}

/** Where the search for entries starts and ends. */
interface Window {
  readonly after: string;
  /** Undefined unless the clock was set back: then the log has ids from the time before that. */
  readonly upTo: string | undefined;
  /** Beyond `upTo`, only what comes behind this. */
  readonly ahead: string;
}

function windowOf({ sealedId }: StoredLog, now: number, next: string | undefined): Window {
  const isAhead = (timeOfId(sealedId) ?? 0) > now + OVERLAP_MS;
  const after = next ?? beginOf(sealedId, now);
  return {
    after,
    upTo: isAhead ? firstIdAt(now + OVERLAP_MS) : undefined,
    ahead: after > sealedId ? after : sealedId,
  };
}

function beginOf(sealedId: string, now: number): string {
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
