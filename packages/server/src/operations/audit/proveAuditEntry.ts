import { Problem } from "@countersign/protocol";
import { type ProvenEntry, proveEntries } from "../../audit/prove-entries.ts";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type AuditScope, auditedLog } from "../../steps/audit/auditedLog.ts";
import { readEntry } from "../../storage/sql/audit/audit-entries.ts";
import { readSealOf } from "../../storage/sql/audit/audit-seals.ts";

const UNSEALED = "The entry is not sealed yet. Retry in a minute.";

const ARCHIVED =
  "This log has no such entry in the database. If it is in an archive, prove it with " +
  "countersign audit prove --archive.";

/**
 * An entry with the proof that the latest checkpoint covers it.
 *
 * @returns one line of JSON with the exact bytes of the entry
 * @throws Problem `forbidden`; `not_found` when it is not in this log or not sealed yet
 * @throws Failure `audit` when its row differs from the sealed entry
 */
export async function proveAuditEntry(
  { store }: Context,
  caller: ReviewerCaller,
  scope: AuditScope,
  id: string,
): Promise<ProvenEntry> {
  const log = await auditedLog(store, caller, scope);
  const entry = await readEntry(store, log.projectId, id);
  if (entry === undefined) throw new Problem("not_found", log.pruned > 0 ? ARCHIVED : undefined);
  const [proven] = await proveEntries(store, log, [entry]);
  if (proven !== undefined) return proven;
  const seal = await readSealOf(store, log.projectId, id);
  const isArchived = seal !== undefined && seal.position < log.pruned;
  throw new Problem("not_found", isArchived ? ARCHIVED : UNSEALED);
}
