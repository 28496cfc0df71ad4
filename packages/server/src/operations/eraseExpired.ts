import { uuidV7 } from "@countersign/protocol";
import type { Context } from "../context.ts";
import { RETRY_WINDOW_MS } from "../core/retry.ts";
import { deleteAnnouncementsEndedBefore } from "../storage/sql/announcements.ts";
import { deleteCeremoniesBefore } from "../storage/sql/ceremonies.ts";
import { readProjectIds } from "../storage/sql/holders.ts";
import { deleteResultsBefore } from "../storage/sql/idempotency.ts";
import { deleteInstancesDeletedBefore } from "../storage/sql/instances.ts";
import { deleteInvitationsBefore } from "../storage/sql/invitations.ts";
import { deleteDecidedBefore } from "../storage/sql/requests.ts";
import { deleteSessionsBefore } from "../storage/sql/sessions.ts";
import { deleteGrantsExpiredBefore } from "../storage/sql/standing-grants.ts";
import { deleteVerificationsBefore } from "../storage/sql/verifications.ts";

/** Bounds one transaction; the worker comes again at once while there is more. */
const ROWS_PER_CALL_MAX = 500;

/** How long a request is kept after its delivery ended. @see contract: Events, Delivery rules, 5 */
const AFTER_DELIVERY_MS = 24 * 3_600_000;

/** An attempt that began inside the window, and its lease. */
const LAST_ATTEMPT_MS = 60_000;

/** How long those who joined a verification may still ask how it ended. */
const VERIFICATION_KEPT_MS = 3_600_000;

/**
 * Erases what the contract no longer asks us to keep: requests with their keys and notifications,
 * results with their sealed credentials, and deletion records; grants, announcements and
 * invitations, as long after their end; and sessions and ceremonies that are over. Pending requests
 * and audit entries are never erased.
 *
 * Called by: the retention worker.
 *
 * @returns how many rows were erased, and whether there may be more
 * @see contract: Limits; Endpoints, POST /v1/requests (retention)
 */
export async function eraseExpired(
  context: Context,
): Promise<{ readonly erased: number; readonly more: boolean }> {
  const projects = await readProjectIds(context.store);
  const counts = await context.store.transact(async (tx) => {
    const now = await tx.now();
    const before = now - context.settings.retentionMs;
    const beforeId = uuidV7(before, new Uint8Array(10));
    const endedBefore = now - AFTER_DELIVERY_MS;
    const bounds = {
      ...{ decidedBefore: before, endedBefore },
      createdBefore: endedBefore - RETRY_WINDOW_MS - LAST_ATTEMPT_MS,
    };
    const ofProjects: number[] = [];
    for (const project of projects) {
      ofProjects.push(await deleteDecidedBefore(tx, project, bounds, ROWS_PER_CALL_MAX));
      ofProjects.push(
        await deleteGrantsExpiredBefore(tx, project, before, beforeId, ROWS_PER_CALL_MAX),
        await deleteAnnouncementsEndedBefore(tx, project, before, ROWS_PER_CALL_MAX),
      );
    }
    return [
      ...ofProjects,
      await deleteResultsBefore(tx, before, ROWS_PER_CALL_MAX),
      await deleteVerificationsBefore(tx, now - VERIFICATION_KEPT_MS, ROWS_PER_CALL_MAX),
      await deleteInstancesDeletedBefore(tx, before, ROWS_PER_CALL_MAX),
      await deleteSessionsBefore(tx, now, ROWS_PER_CALL_MAX),
      await deleteCeremoniesBefore(tx, now, ROWS_PER_CALL_MAX),
      await deleteInvitationsBefore(tx, before, ROWS_PER_CALL_MAX),
    ];
  });
  return {
    erased: counts.reduce((sum, count) => sum + count, 0),
    more: counts.includes(ROWS_PER_CALL_MAX),
  };
}
