/** Rows of the table `search_progress`: how much of the audit log of a project is indexed. */

import type { Reader, Transaction } from "../../store.ts";

export interface IndexProgress {
  readonly projectId: string;
  /** Of the first entry that is not indexed. */
  readonly position: number;
}

/** Projects with sealed entries that are not indexed. */
export async function readUnindexedLogs(reader: Reader): Promise<IndexProgress[]> {
  const rows = await reader.all(
    `select audit_log.project_id, coalesce(search_progress.position, 0) as position
     from audit_log
       left join search_progress on search_progress.project_id = audit_log.project_id
     where audit_log.project_id <> ''
       and audit_log.size > coalesce(search_progress.position, 0)
     order by audit_log.project_id`,
  );
  return rows.map((row) => ({
    projectId: String(row.project_id),
    position: Number(row.position),
  }));
}

/** Locks the progress of a project, so that one transaction at a time changes its index. */
export async function lockProgress(tx: Transaction, projectId: string): Promise<number> {
  await tx.run(
    `insert into search_progress (project_id, position) values ($1, 0)
     on conflict (project_id) do nothing`,
    [projectId],
  );
  const sql = "select position from search_progress where project_id = $1";
  const row = await tx.lock("update", sql, [projectId]);
  return Number(row?.position);
}

export async function saveProgress(
  tx: Transaction,
  { projectId, position }: IndexProgress,
): Promise<void> {
  await tx.run("update search_progress set position = $2 where project_id = $1", [
    projectId,
    position,
  ]);
}
