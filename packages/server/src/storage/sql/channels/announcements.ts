/**
 * Rows of the table `announcement`: pending and sent announcements.
 */

import type { Reader, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

/** `escalated:1`: the first step of the escalation of the request. */
export type AnnouncementKind = "opened" | "reminder" | `escalated:${number}`;

export interface NewAnnouncement {
  readonly id: string;
  readonly projectId: string;
  readonly requestId: string;
  readonly channelId: string;
  readonly occasion: AnnouncementKind;
  readonly createdAt: number;
  /** Of the request. */
  readonly deadlineAt: number;
  /** From when on it is to be sent. */
  readonly nextAt: number;
}

/** Those of one request, in one statement. A channel has each occasion of a request once. */
export async function insertAnnouncements(
  tx: Transaction,
  announcements: readonly NewAnnouncement[],
): Promise<void> {
  const params = announcements.map((_, i) => {
    const numbers = Array.from({ length: 8 }, (_, j) => `$${8 * i + j + 1}`);
    return `(${numbers.join(", ")})`;
  });
  await tx.run(
    `insert into announcement (project_id, id, request_id, channel_id, occasion, created_at,
       deadline_at, next_at)
     values ${params.join(", ")}
     on conflict (project_id, request_id, channel_id, occasion) do nothing`,
    announcements.flatMap((one) => [
      one.projectId,
      one.id,
      one.requestId,
      one.channelId,
      one.occasion,
      one.createdAt,
      one.deadlineAt,
      one.nextAt,
    ]),
  );
}

/** One that is due, with what has become of its request. */
export interface DueAnnouncement {
  readonly id: string;
  readonly requestId: string;
  readonly occasion: AnnouncementKind;
  readonly deadlineAt: number;
  /** Since when it is due. */
  readonly nextAt: number;
  readonly isPending: boolean;
}

/** Those of a channel, the longest waiting first. */
export async function readDueAnnouncements(
  reader: Reader,
  { projectId, id }: RowKey,
  now: number,
  limit: number,
): Promise<DueAnnouncement[]> {
  const rows = await reader.all(
    `select announcement.id, announcement.request_id, announcement.occasion,
       announcement.deadline_at, announcement.next_at, request.status
     from announcement join request on request.project_id = announcement.project_id
       and request.id = announcement.request_id
     where announcement.project_id = $1 and announcement.channel_id = $2
       and announcement.next_at <= $3
     order by announcement.next_at limit $4`,
    [projectId, id, now, limit],
  );
  return rows.map((row) => ({
    id: row.id as string,
    requestId: row.request_id as string,
    occasion: row.occasion as AnnouncementKind,
    deadlineAt: Number(row.deadline_at),
    nextAt: Number(row.next_at),
    isPending: row.status === "pending",
  }));
}

export type AnnouncementEnd = "sent" | "resolved" | "window" | "removal";

/** Of one statement, which always has as many parameters, so that it is one to prepare. */
const IDS_MAX = 100;

/** Ends those that have not ended. */
export async function endAnnouncements(
  tx: Transaction,
  projectId: string,
  ids: readonly string[],
  by: AnnouncementEnd,
  at: number,
): Promise<void> {
  const params = Array.from({ length: IDS_MAX }, (_, i) => `$${i + 4}`).join(", ");
  for (let from = 0; from < ids.length; from += IDS_MAX) {
    const some = Array.from({ length: IDS_MAX }, (_, i) => ids[from + i] ?? null);
    await tx.run(
      `update announcement set next_at = null, ended_at = $2, ended_by = $3
       where project_id = $1 and next_at is not null and id in (${params})`,
      [projectId, at, by, ...some],
    );
  }
}

/**
 * Ends those of a channel that are due by then.
 *
 * @param dueBy epoch ms; infinite for all of them
 * @returns how many, at most `limit`
 */
export async function endAnnouncementsOf(
  tx: Transaction,
  { projectId, id }: RowKey,
  { by, at, dueBy }: { readonly by: AnnouncementEnd; readonly at: number; readonly dueBy: number },
  limit: number,
): Promise<number> {
  return tx.run(
    `update announcement set next_at = null, ended_at = $3, ended_by = $4
     where project_id = $1 and id in (select id from announcement
       where project_id = $1 and channel_id = $2 and next_at <= $5 limit $6)`,
    [projectId, id, at, by, Math.min(dueBy, Number.MAX_SAFE_INTEGER), limit],
  );
}

/** The earliest deadline of what is due; of more than are read, those included. */
export async function readEarliestDeadline(
  reader: Reader,
  { projectId, id }: RowKey,
  now: number,
): Promise<number> {
  const row = await reader.get(
    `select min(deadline_at) as deadline_at from announcement
     where project_id = $1 and channel_id = $2 and next_at <= $3 and deadline_at > $3`,
    [projectId, id, now],
  );
  return Number(row?.deadline_at ?? now);
}

/** @returns how many of this project were purged, at most `limit` */
export async function deleteAnnouncementsEndedBefore(
  tx: Transaction,
  projectId: string,
  before: number,
  limit: number,
): Promise<number> {
  return tx.run(
    `delete from announcement where project_id = $1 and id in (select id from announcement
       where project_id = $1 and ended_at <= $2 limit $3)`,
    [projectId, before, limit],
  );
}
