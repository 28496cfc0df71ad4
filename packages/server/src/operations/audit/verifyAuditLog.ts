import { setImmediate as nextTurn } from "node:timers/promises";
import { toAddedPasskeys } from "../../audit/entry-checks.ts";
import { type Verified, verifyLog } from "../../audit/verify-log.ts";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type AuditScope, auditedLog } from "../../steps/audit/auditedLog.ts";
import { readAddedPasskeys } from "../../storage/sql/audit/audit-entries.ts";
import { SERVER } from "../../storage/sql/keys.ts";

export type { Finding } from "../../audit/finding.ts";

export type VerificationEvent =
  | { readonly kind: "started"; readonly origin: string; readonly size: number }
  | { readonly kind: "progress"; readonly verified: number }
  | { readonly kind: "verified"; readonly verified: number; readonly result: Verified }
  /** The time limit was reached; all entries so far are valid. */
  | { readonly kind: "stopped"; readonly verified: number };

/** Receives the events of a verification. */
export interface VerificationSink {
  /** Resolves when the next event can be sent. */
  emit(event: VerificationEvent): Promise<void>;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

const VERIFICATION_MS_MAX = 5 * 60_000;

/** Entries between two reports. */
const PROGRESS_EVERY = 10_000;

class TimeIsOver extends Error {}

/**
 * Verifies a sealed log from its rows, with the key in the database, a few seals at a time. Writes
 * nothing. Other exchanges are served in between.
 *
 * @throws Problem `forbidden`; `not_found` before its first sealed entry; the reason of the signal
 */
export async function verifyAuditLog(
  { store, clock }: Pick<Context, "store" | "clock">,
  caller: ReviewerCaller,
  scope: AuditScope,
  { emit, signal }: VerificationSink,
): Promise<void> {
  const log = await auditedLog(store, caller, scope);
  const { origin, publicKey, size } = log;
  const endsAt = clock.monotonic() + VERIFICATION_MS_MAX;
  await emit({ kind: "started", origin, size });
  let [verified, reported] = [0, 0];
  const onProgress = async (entries: number) => {
    signal.throwIfAborted();
    verified = entries;
    if (clock.monotonic() > endsAt) throw new TimeIsOver();
    if (verified - reported >= PROGRESS_EVERY) {
      reported = verified;
      await emit({ kind: "progress", verified });
    }
    await nextTurn();
  };
  try {
    const passkeys = toAddedPasskeys(await readAddedPasskeys(store, SERVER));
    const verifier = { name: origin, publicKey };
    const result = await verifyLog(store, log, { verifier, passkeys, clock, onProgress });
    signal.throwIfAborted();
    await emit({ kind: "verified", verified, result });
  } catch (error) {
    if (!(error instanceof TimeIsOver)) throw error;
    await emit({ kind: "stopped", verified });
  }
}
