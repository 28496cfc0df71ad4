import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { RETRY_WINDOW_MS } from "../../core/retry.ts";
import { readProjectIds } from "../../storage/sql/access/holders.ts";
import { deleteAnnouncementsEndedBefore } from "../../storage/sql/channels/announcements.ts";
import { deleteFreezesLiftedBefore } from "../../storage/sql/freezes/freezes.ts";
import { deleteGrantsExpiredBefore } from "../../storage/sql/grants/grants.ts";
import { deleteInstancesDeletedBefore } from "../../storage/sql/instances/instances.ts";
import { deleteVerificationsBefore } from "../../storage/sql/instances/verifications.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { deleteResultsBefore } from "../../storage/sql/requests/idempotency.ts";
import { deleteDecidedBefore } from "../../storage/sql/requests/requests.ts";
import { deleteCeremoniesBefore } from "../../storage/sql/sign-in/ceremonies.ts";
import { deleteInvitationsBefore } from "../../storage/sql/sign-in/invitations.ts";
import { deleteSessionsBefore } from "../../storage/sql/sign-in/sessions.ts";
import type { Transaction } from "../../storage/store.ts";

/** Limits one transaction. The worker continues at once while more rows exist. */
const ROWS_PER_CALL_MAX = 500;

/** Retention of a request after its delivery ended. @see contract: Events, Delivery rules, 5 */
const AFTER_DELIVERY_MS = 24 * 3_600_000;

/** Duration of an attempt that started within the window, and its lease. */
const LAST_ATTEMPT_MS = 60_000;

/**
 * Purges rows after the contract's retention: requests with their keys and notifications, results
 * with their encrypted credentials, and deletion records. It purges grants, freezes, announcements
 * and invitations after the same time, and expired sessions and ceremonies. Pending requests,
 * active freezes and audit entries are never purged.
 *
 * @returns how many rows were purged, and whether there may be more
 * @see contract: Limits; Endpoints, POST /v1/requests (retention)
 */
export async function purgeExpired(
  context: Context,
): Promise<{ readonly purged: number; readonly more: boolean }> {
  const projects = await readProjectIds(context.store);
  const counts = await context.store.transact(async (tx) => {
    const now = await tx.now();
    const before = now - context.settings.retentionMs;
    const beforeId = uuidV7(before, new Uint8Array(10));
    const endedBefore = now - AFTER_DELIVERY_MS;
    const bounds = {
      decidedBefore: before,
      endedBefore,
      createdBefore: endedBefore - RETRY_WINDOW_MS - LAST_ATTEMPT_MS,
    };
    const freezesOf = (project: string) =>
      deleteFreezesLiftedBefore(tx, project, before, beforeId, ROWS_PER_CALL_MAX);
    const ofProjects: number[] = [];
    for (const project of projects) {
      const requests = await deleteDecidedBefore(tx, project, bounds, ROWS_PER_CALL_MAX);
      const grants = await deleteGrantsExpiredBefore(
        tx,
        project,
        before,
        beforeId,
        ROWS_PER_CALL_MAX,
      );
      const announcements = await deleteAnnouncementsEndedBefore(
        tx,
        project,
        before,
        ROWS_PER_CALL_MAX,
      );
      const freezes = await freezesOf(project);
      await appendPurgeEntry(tx, context, project, now, {
        requests,
        grants,
        freezes,
        announcements,
      });
      ofProjects.push(requests, grants, freezes, announcements);
    }
    const ofServer = {
      provisioning_results: await deleteResultsBefore(tx, before, ROWS_PER_CALL_MAX),
      verifications: await deleteVerificationsBefore(tx, before, ROWS_PER_CALL_MAX),
      instances: await deleteInstancesDeletedBefore(tx, before, ROWS_PER_CALL_MAX),
      freezes: await freezesOf(SERVER),
      invitations: await deleteInvitationsBefore(tx, before, ROWS_PER_CALL_MAX),
    };
    await appendPurgeEntry(tx, context, SERVER, now, ofServer);
    // Their starts and ends have entries of their own.
    const passing = [
      await deleteSessionsBefore(tx, now, ROWS_PER_CALL_MAX),
      await deleteCeremoniesBefore(tx, now, ROWS_PER_CALL_MAX),
    ];
    return [...ofProjects, ...Object.values(ofServer), ...passing];
  });
  return {
    purged: counts.reduce((sum, count) => sum + count, 0),
    more: counts.includes(ROWS_PER_CALL_MAX),
  };
}

/** Explains why the subject of an older entry is missing. */
async function appendPurgeEntry(
  tx: Transaction,
  { random }: Context,
  projectId: string,
  now: number,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  if (Object.values(counts).every((count) => count === 0)) return;
  const subject = projectId === SERVER ? "server:" : `project:${projectId}`;
  await appendAudit(tx, random, {
    at: now,
    projectId,
    subject,
    detail: counts,
    kind: "rows.erased",
    actor: "system:retention",
  });
}
