import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { RETRY_WINDOW_MS } from "../../core/retry.ts";
import { deleteExpiredInstanceCredentials } from "../../storage/sql/access/credentials.ts";
import { readProjectIds } from "../../storage/sql/access/holders.ts";
import { deleteAnnouncementsEndedBefore } from "../../storage/sql/channels/announcements.ts";
import { deleteOldChatEvents } from "../../storage/sql/chat/chat-events.ts";
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

/** Maximum rows of each kind in a transaction. On SQLite, so many block the event loop for 2 ms. */
const ROWS_PER_TRANSACTION = 100;

/** Retention of a request after its delivery ended. @see contract: Events, Delivery rules, 5 */
const AFTER_DELIVERY_MS = 24 * 3_600_000;

/** Duration of an attempt that started within the window, and its lease. */
const LAST_ATTEMPT_MS = 60_000;

/**
 * Purges rows after the contract's retention: requests with their keys and notifications, results
 * with their encrypted credentials, and deletion records. It purges grants, freezes, announcements
 * and invitations after the same time, and expired sessions, ceremonies and credentials of
 * instances. Pending requests, active freezes and audit entries are never purged.
 *
 * Each project has a transaction of its own. A failure does not stop the purge of other projects.
 *
 * @param projects from an earlier call, whose rest is still to be purged; without them, all
 * @see contract: Limits; Endpoints, POST /v1/requests (retention)
 */
export async function purgeExpired(
  context: Context,
  projects?: readonly string[],
): Promise<Purged> {
  let purged = 0;
  const unfinished: string[] = [];
  const failures: unknown[] = [];
  for (const project of projects ?? [...(await readProjectIds(context.store)), SERVER]) {
    try {
      const counts = await purgeOne(context, project);
      purged += counts.reduce((sum, count) => sum + count, 0);
      if (counts.includes(ROWS_PER_TRANSACTION)) unfinished.push(project);
    } catch (error) {
      failures.push(error);
    }
  }
  return { purged, unfinished, failures };
}

export interface Purged {
  /** How many rows. */
  readonly purged: number;
  /** Projects that may have more rows to purge. */
  readonly unfinished: readonly string[];
  readonly failures: readonly unknown[];
}

/** @returns the count of each kind of row */
function purgeOne(context: Context, project: string): Promise<number[]> {
  return context.store.transact(async (tx) => {
    const now = await tx.now();
    const purge = { tx, random: context.random, now, retention: retentionOf(context, now) };
    return project === SERVER ? purgeServer(purge) : purgeProject(purge, project);
  });
}

interface Purge {
  readonly tx: Transaction;
  readonly random: Context["random"];
  readonly now: number;
  readonly retention: Retention;
}

/** The latest times of rows to purge. */
interface Retention {
  readonly before: number;
  /** An id of the time `before`. */
  readonly beforeId: string;
  /** For requests with a notification. */
  readonly endedBefore: number;
  readonly createdBefore: number;
}

function retentionOf({ settings }: Context, now: number): Retention {
  const before = now - settings.retentionMs;
  const endedBefore = now - AFTER_DELIVERY_MS;
  return {
    before,
    beforeId: uuidV7(before, new Uint8Array(10)),
    endedBefore,
    createdBefore: endedBefore - RETRY_WINDOW_MS - LAST_ATTEMPT_MS,
  };
}

/** @returns the count of each kind of row */
async function purgeProject(purge: Purge, project: string): Promise<number[]> {
  const { tx, now, retention } = purge;
  const { before, beforeId, endedBefore, createdBefore } = retention;
  const max = ROWS_PER_TRANSACTION;
  const bounds = { decidedBefore: before, endedBefore, createdBefore };
  const counts = {
    requests: await deleteDecidedBefore(tx, project, bounds, max),
    grants: await deleteGrantsExpiredBefore(tx, project, before, beforeId, max),
    announcements: await deleteAnnouncementsEndedBefore(tx, project, before, max),
    freezes: await deleteFreezesLiftedBefore(tx, project, before, beforeId, max),
  };
  await appendPurgeEntry(purge, project, counts);
  // Their effects have entries of their own.
  await deleteOldChatEvents(tx, project, now);
  return Object.values(counts);
}

/**
 * Purges the rows without a project, and credentials of instances.
 *
 * @returns the count of each kind of row
 */
async function purgeServer(purge: Purge): Promise<number[]> {
  const { tx, now, retention } = purge;
  const { before, beforeId } = retention;
  const max = ROWS_PER_TRANSACTION;
  const counts = {
    provisioning_results: await deleteResultsBefore(tx, before, max),
    verifications: await deleteVerificationsBefore(tx, before, max),
    instances: await deleteInstancesDeletedBefore(tx, before, max),
    freezes: await deleteFreezesLiftedBefore(tx, SERVER, before, beforeId, max),
    invitations: await deleteInvitationsBefore(tx, before, max),
  };
  await appendPurgeEntry(purge, SERVER, counts);
  // Their starts and ends have entries of their own.
  const sessions = await deleteSessionsBefore(tx, now, max);
  const ceremonies = await deleteCeremoniesBefore(tx, now, max);
  const credentials = await deleteExpiredInstanceCredentials(tx, now, max);
  return [...Object.values(counts), sessions, ceremonies, credentials];
}

/** Explains why the subject of an older entry is missing. */
async function appendPurgeEntry(
  { tx, random, now }: Purge,
  projectId: string,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  if (Object.values(counts).every((count) => count === 0)) return;
  await appendAudit(tx, random, {
    at: now,
    projectId,
    kind: "rows.erased",
    actor: "system:retention",
    subject: projectId === SERVER ? "server:" : `project:${projectId}`,
    detail: counts,
  });
}
