/** Finds the sealed log that a caller may read. */

import { Problem } from "@countersign/protocol";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readLog, type StoredLog } from "../../storage/sql/audit/audit-logs.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import type { Reader } from "../../storage/store.ts";

/** The log of the caller's project, or of the whole server. */
export type AuditScope = "project" | "server";

/**
 * The project of the requested log.
 *
 * @throws Problem `forbidden`
 */
export function auditedProject(caller: ReviewerCaller, scope: AuditScope): string {
  assertMay(caller, "audit");
  if (scope === "project") return caller.projectId;
  assertMay(caller, "server");
  return SERVER;
}

/**
 * The current state of the log.
 *
 * @throws Problem `forbidden`; `not_found` before its first sealed entry
 */
export async function auditedLog(
  reader: Reader,
  caller: ReviewerCaller,
  scope: AuditScope,
): Promise<StoredLog> {
  const log = await readLog(reader, auditedProject(caller, scope));
  if (log === undefined)
    throw new Problem("not_found", "This log has no sealed entries yet. Try again later.");
  return log;
}
