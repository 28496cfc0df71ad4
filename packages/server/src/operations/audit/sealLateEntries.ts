import type { Context } from "../../context.ts";
import { appendSealed, batchOf, type OpenKeys } from "../../steps/audit/appendSealed.ts";
import {
  type IdRange,
  readEntriesBetween,
  readEntryIds,
  sealableEntries,
} from "../../storage/sql/audit/audit-entries.ts";
import { lockLog } from "../../storage/sql/audit/audit-logs.ts";
import { readSealedIds } from "../../storage/sql/audit/audit-seals.ts";
import type { Reader } from "../../storage/store.ts";

/** Limits the time for which one call blocks the thread. */
const IDS_PER_CALL_MAX = 1_024;

export interface RescanStep {
  readonly sealed: number;
  /** Where to go on; undefined at the end. */
  readonly next: string | undefined;
}

/**
 * Scans the entries of a log in order and seals unsealed ones: they were committed long after the
 * time in their ids, or the clock was changed.
 */
export async function sealLateEntries(
  context: Context,
  keys: OpenKeys,
  projectId: string,
  range: IdRange,
): Promise<RescanStep> {
  const { store } = context;
  const ids = await readEntryIds(store, projectId, range, IDS_PER_CALL_MAX);
  const next = ids.length < IDS_PER_CALL_MAX ? undefined : ids.at(-1);
  let left = await unsealedOf(store, projectId, ids);
  let sealed = 0;
  while (left.length > 0) {
    const candidates = left;
    const batch = await store.transact(async (tx) => {
      const log = await lockLog(tx, projectId);
      // Other replicas may have sealed some before the log was locked.
      const batch = batchOf(await unsealedOf(tx, projectId, candidates));
      const [first, last] = [batch[0], batch.at(-1)];
      if (log === undefined || first === undefined || last === undefined) return [];
      const wanted = new Set(batch);
      const found = await readEntriesBetween(tx, projectId, first, last);
      const now = await tx.now();
      const entries = sealableEntries(
        tx,
        found.filter(({ id }) => wanted.has(id)),
        now,
      ).sort((a, b) => (a.id < b.id ? -1 : 1));
      if (entries.length > 0) await appendSealed(tx, context, keys, log, entries, now);
      sealed += entries.length;
      return batch;
    });
    const done = new Set(batch);
    left = batch.length === 0 ? [] : candidates.filter((id) => !done.has(id));
  }
  return { sealed, next };
}

/** @param ids sorted */
async function unsealedOf(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<string[]> {
  const [first, last] = [ids[0], ids.at(-1)];
  if (first === undefined || last === undefined) return [];
  const sealed = await readSealedIds(reader, projectId, first, last);
  return ids.filter((id) => !sealed.has(id));
}
