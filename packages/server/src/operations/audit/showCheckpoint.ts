import type { Context } from "../../context.ts";
import { writeVerifier } from "../../core/signed-note.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type AuditScope, auditedLog } from "../../steps/audit/auditedLog.ts";

export interface ShownCheckpoint {
  readonly checkpoint: string;
  /** In one line, with the name of the log. */
  readonly publicKey: string;
  readonly size: number;
  /** Entries before this position are only in an archive. */
  readonly pruned: number;
  /** Epoch ms. */
  readonly sealedAt: number;
}

/**
 * The latest checkpoint of the log.
 *
 * @throws Problem `forbidden`; `not_found` before its first sealed entry
 */
export async function showCheckpoint(
  { store }: Context,
  caller: ReviewerCaller,
  scope: AuditScope,
): Promise<ShownCheckpoint> {
  const log = await auditedLog(store, caller, scope);
  const { origin: name, publicKey, checkpoint, size, pruned, sealedAt } = log;
  return { checkpoint, publicKey: writeVerifier({ name, publicKey }), size, pruned, sealedAt };
}
