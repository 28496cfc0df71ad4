/** Statements that remove archived entries from a log, and record its cut. */

import type { Reader, Transaction } from "../../store.ts";

/** How many ids a statement takes: those of one seal. */
export const IDS_MAX = 256;

/** Names the entry `audit.pruned` that allows the next cut. */
export async function allowCut(tx: Transaction, projectId: string, entryId: string): Promise<void> {
  const sql = "update audit_log set pruned_by = $2 where project_id = $1";
  await tx.run(sql, [projectId, entryId]);
}

/** Moves the cut to a position. */
export async function moveCut(tx: Transaction, projectId: string, position: number): Promise<void> {
  const sql = "update audit_log set pruned = $2 where project_id = $1";
  await tx.run(sql, [projectId, position]);
}

/** Deletes entries, except those of the kinds that stay (see core/audit-cut.ts). */
export async function deleteEntries(
  tx: Transaction,
  projectId: string,
  ids: readonly string[],
): Promise<number> {
  const params = Array.from({ length: IDS_MAX }, (_, i) => `$${i + 2}`).join(", ");
  return tx.run(
    `delete from audit_entry where project_id = $1 and id in (${params})
       and kind not in ('passkey.added', 'policy.published')`,
    [projectId, ...padded(ids)],
  );
}

/** Which of these entries exist. */
export async function readExistingIds(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const params = Array.from({ length: IDS_MAX }, (_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.all(
    `select id from audit_entry where project_id = $1 and id in (${params})`,
    [projectId, ...padded(ids)],
  );
  return new Set(rows.map(({ id }) => String(id)));
}

export async function deleteSeal(
  tx: Transaction,
  projectId: string,
  position: number,
): Promise<void> {
  const sql = "delete from audit_seal where project_id = $1 and position = $2";
  await tx.run(sql, [projectId, position]);
}

/** Always as many parameters, so that it is one statement to prepare. */
function padded(ids: readonly string[]): (string | null)[] {
  if (ids.length > IDS_MAX) throw new RangeError(`a seal has ${ids.length} ids`);
  return Array.from({ length: IDS_MAX }, (_, i) => ids[i] ?? null);
}
