/**
 * Locks what reviewers need to decide: rows of the tables `reviewer`, `credential` and `person`, in
 * the order in which a removal locks them.
 */

import type { Transaction } from "../../store.ts";

/** @param ids of reviewers of the project, at least one */
export async function lockReviewers(
  tx: Transaction,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const sql = `select id from reviewer where project_id = $1 and id in (${params}) order by id`;
  await tx.lock("share", sql, [projectId, ...ids]);
}

/** Every token of these reviewers. */
export async function lockTokens(
  tx: Transaction,
  projectId: string,
  holderIds: readonly string[],
): Promise<void> {
  const params = holderIds.map((_, i) => `$${i + 2}`).join(", ");
  const sql = `select id from credential
    where project_id = $1 and holder_id in (${params}) and revoked_at is null order by id`;
  await tx.lock("share", sql, [projectId, ...holderIds]);
}

export async function lockPersons(tx: Transaction, ids: readonly string[]): Promise<void> {
  const params = ids.map((_, i) => `$${i + 1}`).join(", ");
  await tx.lock("share", `select id from person where id in (${params}) order by id`, ids);
}
