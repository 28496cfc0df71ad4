import { firstIdAt } from "@countersign/protocol";
import type { Context } from "../context.ts";
import type { IdRange } from "../storage/sql/audit-entries.ts";
import {
  claimLook,
  claimWalk,
  readLog,
  readUnlookedLogs,
  saveWalk,
} from "../storage/sql/audit-logs.ts";

/** Between two looks for late entries, and between two parts of one that lost its maker. */
export const LOOK_EVERY_MS = 5 * 60_000;

/**
 * How far back a look goes: two rounds of it, and as long as PostgreSQL lets a transaction last
 * (`lastsMsMax`). What is later than that waits for a walk.
 */
const LOOK_BACK_MS = 15 * 60_000;

/** Between two walks over a whole log. */
const WALK_EVERY_MS = 24 * 3_600_000;

/** What is younger is left to those who seal in the order of ids. */
const SETTLED_MS = 5_000;

export interface Look {
  readonly projectId: string;
  readonly range: Required<IdRange>;
  /** Over the whole log: where it comes to is recorded, for whoever has to go on. */
  readonly isWalk: boolean;
}

/**
 * Takes on the looks for late entries that are due and that no other replica has taken on.
 *
 * Called by: the sealing worker.
 */
export async function claimLooks({
  store,
  clock,
}: Pick<Context, "store" | "clock">): Promise<Look[]> {
  const before = clock.now() - LOOK_EVERY_MS;
  const looks: Look[] = [];
  for (const projectId of await readUnlookedLogs(store, before, clock.now())) {
    const claimed = await store.transact(async (tx) => {
      const now = await tx.now();
      if (!(await claimLook(tx, projectId, now - LOOK_EVERY_MS, now))) return [];
      const walk = await claimWalk(tx, projectId, {
        ...{ endedBefore: now - WALK_EVERY_MS, lostBefore: now - LOOK_EVERY_MS, now },
      });
      const log = await readLog(tx, projectId);
      if (log === undefined) return [];
      const settled = firstIdAt(now - SETTLED_MS);
      // Behind that id sealing is under way.
      const upTo = settled < log.sealedId ? settled : log.sealedId;
      const after = walk === undefined ? firstIdAt(now - LOOK_BACK_MS) : walk.after;
      return [{ projectId, range: { after, upTo }, isWalk: walk !== undefined }];
    });
    looks.push(...claimed);
  }
  return looks;
}

/** Records how far a walk has come. @param after undefined when it has ended */
export async function recordWalk(
  { store }: Pick<Context, "store">,
  projectId: string,
  after: string | undefined,
): Promise<void> {
  await store.transact(async (tx) => saveWalk(tx, projectId, after ?? "", await tx.now()));
}
