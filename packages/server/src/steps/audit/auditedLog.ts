/** Finds the sealed log that a caller may read. */

import { Problem } from "@countersign/protocol";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readLog, type StoredLog } from "../../storage/sql/audit/audit-logs.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import type { Reader } from "../../storage/store.ts";

/** The log of the caller's project, or that of what is of the whole server. */
export type AuditScope = "project" | "server";

/**
 * Whose log it is that the caller wants to see.
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
 * The log as it is now.
 *
 * @throws Problem `forbidden`, `not_found` while nothing of it is sealed
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
