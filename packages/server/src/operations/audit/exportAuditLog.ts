import { exportLog } from "../../audit/export-log.ts";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type AuditScope, auditedLog } from "../../steps/audit/auditedLog.ts";

export interface AuditExport {
  readonly scope: AuditScope;
  /** Epoch ms; from the beginning when undefined. */
  readonly since: number | undefined;
}

/**
 * The sealed log, line by line.
 *
 * @throws Problem `forbidden`, `not_found` while nothing of it is sealed
 * @throws Failure `audit` when a row is missing that was sealed
 */
export async function exportAuditLog(
  { store }: Context,
  caller: ReviewerCaller,
  { scope, since }: AuditExport,
  emit: (line: string) => Promise<void>,
): Promise<void> {
  const log = await auditedLog(store, caller, scope);
  for await (const line of exportLog(store, log, since)) await emit(line);
}
