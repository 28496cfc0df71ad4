/**
 * Schedules the scans for audit entries that were committed late, so that one replica runs each.
 */

import { firstIdAt } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { IdRange } from "../../storage/sql/audit/audit-entries.ts";
import {
  claimFullScan,
  claimRescan,
  endRescan,
  type RescanBounds,
  readLog,
  readLogsDueForRescan,
  saveFullScan,
} from "../../storage/sql/audit/audit-logs.ts";

/**
 * Interval of rescans for late entries, and the pause before a full scan of a crashed process
 * resumes.
 */
export const RESCAN_EVERY_MS = 5 * 60_000;

/** Then another replica repeats a rescan. Two rescans of one log are harmless. */
export const RESCAN_LEASE_MS = 60_000;

/** Maximum delay of an entry: the longest transaction in PostgreSQL (`lastsMsMax`). */
const LATE_MS_MAX = 5 * 60_000;

/**
 * How far back a rescan reads: two intervals plus the maximum delay, or to the last completed one.
 * A full scan finds later entries.
 */
const RESCAN_BACK_MS = 2 * RESCAN_EVERY_MS + LATE_MS_MAX;

/** Interval of full scans of a log. */
const FULL_SCAN_EVERY_MS = 24 * 3_600_000;

/** Younger entries are sealed in the order of their ids. */
const SETTLED_MS = 5_000;

export interface Rescan {
  readonly projectId: string;
  readonly range: Required<IdRange>;
  /** Epoch ms. */
  readonly startedAt: number;
  /** Over the complete log. Its progress is recorded, so another process can continue it. */
  readonly isFullScan: boolean;
}

/**
 * Claims the due rescans for late entries that no other replica has claimed.
 */
export async function claimRescans({
  store,
  clock,
}: Pick<Context, "store" | "clock">): Promise<Rescan[]> {
  const rescans: Rescan[] = [];
  for (const projectId of await readLogsDueForRescan(store, boundsOf(clock.now()))) {
    const claimed = await store.transact(async (tx) => {
      const now = await tx.now();
      const rescannedUpTo = await claimRescan(tx, projectId, boundsOf(now));
      if (rescannedUpTo === undefined) return [];
      const fullScan = await claimFullScan(tx, projectId, {
        endedBefore: now - FULL_SCAN_EVERY_MS,
        lostBefore: now - RESCAN_EVERY_MS,
        now,
      });
      const log = await readLog(tx, projectId);
      if (log === undefined) return [];
      const settled = firstIdAt(now - SETTLED_MS);
      // After that id, sealing is in progress.
      const upTo = settled < log.sealedId ? settled : log.sealedId;
      const from = Math.min(now - RESCAN_BACK_MS, rescannedUpTo - LATE_MS_MAX);
      const recent = firstIdAt(Math.max(0, from));
      // A full scan near the end of the log reads the recent entries too.
      const after = fullScan !== undefined && fullScan.after < recent ? fullScan.after : recent;
      const range = { after, upTo };
      return [{ projectId, range, startedAt: now, isFullScan: fullScan !== undefined }];
    });
    rescans.push(...claimed);
  }
  return rescans;
}

function boundsOf(now: number): RescanBounds {
  return { startedBefore: now - RESCAN_EVERY_MS, lostBefore: now - RESCAN_LEASE_MS, now };
}

/** Records the end of a rescan. Without it, the rescan is repeated. */
export async function recordRescan(
  { store }: Pick<Context, "store">,
  { projectId, startedAt }: Rescan,
): Promise<void> {
  await store.transact((tx) => endRescan(tx, projectId, startedAt));
}

/** Records the progress of a full scan. @param after undefined at its end */
export async function recordFullScan(
  { store }: Pick<Context, "store">,
  projectId: string,
  after: string | undefined,
): Promise<void> {
  await store.transact(async (tx) => saveFullScan(tx, projectId, after ?? "", await tx.now()));
}
