/**
 * Schedules the scans for audit entries that were committed late, so that one replica makes each.
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

/** Between two rescans for late entries, and before a full scan whose process died is resumed. */
export const RESCAN_EVERY_MS = 5 * 60_000;

/** After this time another replica repeats a rescan; two rescans of one log do no harm. */
export const RESCAN_LEASE_MS = 60_000;

/** As long as PostgreSQL lets a transaction last (`lastsMsMax`): so late may an entry be. */
const LATE_MS_MAX = 5 * 60_000;

/**
 * How far back a rescan reads: two intervals, and as late as an entry may be; further when none has
 * ended for so long. Entries that are later wait for a full scan.
 */
const RESCAN_BACK_MS = 2 * RESCAN_EVERY_MS + LATE_MS_MAX;

/** Between two full scans of a log. */
const FULL_SCAN_EVERY_MS = 24 * 3_600_000;

/** Younger entries are left to the sealing in the order of ids. */
const SETTLED_MS = 5_000;

export interface Rescan {
  readonly projectId: string;
  readonly range: Required<IdRange>;
  /** Epoch ms. */
  readonly begunAt: number;
  /** Over the whole log; its progress is recorded, so that another process can continue it. */
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
      // After that id sealing is in progress.
      const upTo = settled < log.sealedId ? settled : log.sealedId;
      const from = Math.min(now - RESCAN_BACK_MS, rescannedUpTo - LATE_MS_MAX);
      const recent = firstIdAt(Math.max(0, from));
      // A full scan close to the end of the log reads the recent entries as well.
      const after = fullScan !== undefined && fullScan.after < recent ? fullScan.after : recent;
      const range = { after, upTo };
      return [{ projectId, range, begunAt: now, isFullScan: fullScan !== undefined }];
    });
    rescans.push(...claimed);
  }
  return rescans;
}

function boundsOf(now: number): RescanBounds {
  return { begunBefore: now - RESCAN_EVERY_MS, lostBefore: now - RESCAN_LEASE_MS, now };
}

/** Records that a rescan ended; one that did not is repeated. */
export async function recordRescan(
  { store }: Pick<Context, "store">,
  { projectId, begunAt }: Rescan,
): Promise<void> {
  await store.transact((tx) => endRescan(tx, projectId, begunAt));
}

/** Records the progress of a full scan. @param after undefined when it has ended */
export async function recordFullScan(
  { store }: Pick<Context, "store">,
  projectId: string,
  after: string | undefined,
): Promise<void> {
  await store.transact(async (tx) => saveFullScan(tx, projectId, after ?? "", await tx.now()));
}
