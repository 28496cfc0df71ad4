/**
 * What waits in a project and how it stands, without its contents: for whoever watches it.
 */

import type { Reader } from "../../store.ts";

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
  const [row] = await reader.all(
    "select count(*) as pending from request where status = 'pending' and project_id = $1",
    [projectId],
  );
  return Number(row?.pending ?? 0);
}

/** How many requests {@link readVotesSaid} takes at a time. */
const IDS_PER_READ = 200;

/**
 * Votes on these requests. Not joined to what is pending: SQLite would go through all votes of the
 * project for that.
 */
export async function readVotesSaid(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
): Promise<Said[]> {
  // Always as many places, so that it is one statement to prepare.
  const places = Array.from({ length: IDS_PER_READ }, (_, i) => `$${i + 2}`).join(", ");
  const said: Said[] = [];
  for (let from = 0; from < requestIds.length; from += IDS_PER_READ) {
    const ids = Array.from({ length: IDS_PER_READ }, (_, i) => requestIds[from + i] ?? null);
    const rows = await reader.all(
      `select request_id, reviewer_id, voted_at as at from vote
       where project_id = $1 and request_id in (${places})`,
      [projectId, ...ids],
    );
    said.push(...rows.map(toSaid));
  }
  return said;
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
