/**
 * What waits in a project and how it stands, without its contents: for whoever watches it.
 */

import type { Reader } from "../store.ts";

/** Something that was said of a request, and when. */
export interface Said {
  readonly requestId: string;
  readonly reviewerId: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Ids of pending requests, those that end first at the front. */
export async function readPendingIds(
  reader: Reader,
  projectId: string,
  limit: number,
): Promise<string[]> {
  const rows = await reader.all(
    `select id from request where status = 'pending' and project_id = $1
     order by deadline_at limit $2`,
    [projectId, limit],
  );
  return rows.map((row) => row.id as string);
}

export async function countPendingOf(reader: Reader, projectId: string): Promise<number> {
  const row = await reader.get(
    "select count(*) as pending from request where status = 'pending' and project_id = $1",
    [projectId],
  );
  return Number(row?.pending ?? 0);
}

/** Votes on what is pending. */
export async function readPendingVotes(
  reader: Reader,
  projectId: string,
  limit: number,
): Promise<Said[]> {
  const rows = await reader.all(
    `select vote.request_id as request_id, vote.reviewer_id as reviewer_id, vote.voted_at as at
     from request join vote
       on vote.project_id = request.project_id and vote.request_id = request.id
     where request.status = 'pending' and request.project_id = $1 limit $2`,
    [projectId, limit],
  );
  return rows.map(toSaid);
}

/** Verdicts that are held: none for longer than a minute. */
export async function readHeldOf(
  reader: Reader,
  projectId: string,
  limit: number,
): Promise<Said[]> {
  const rows = await reader.all(
    `select request_id, reviewer_id, held_at as at from held_verdict
     where project_id = $1 limit $2`,
    [projectId, limit],
  );
  return rows.map(toSaid);
}

function toSaid(row: Readonly<Record<string, unknown>>): Said {
  return {
    requestId: row.request_id as string,
    reviewerId: row.reviewer_id as string,
    at: Number(row.at),
  };
}
