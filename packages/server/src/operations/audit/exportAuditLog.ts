import { exportLog } from "../../audit/export-log.ts";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type AuditScope, auditedLog } from "../../steps/audit/auditedLog.ts";

export interface AuditExport {
  readonly scope: AuditScope;
  /** Epoch ms; undefined: from the start. */
  readonly since: number | undefined;
}

/**
 * The sealed log, line by line.
 *
 * @throws Problem `forbidden`; `not_found` before its first sealed entry
 * @throws Failure `audit` when a sealed row is missing
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
