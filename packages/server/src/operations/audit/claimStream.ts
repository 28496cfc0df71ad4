import type { Context } from "../../context.ts";
import { attemptDeadline, MESSAGE_LEASE } from "../../core/lease.ts";
import { readLog, type StoredLog } from "../../storage/sql/audit/audit-logs.ts";
import {
  claimStreamRow,
  lockStream,
  type StoredStream,
  type StreamKey,
} from "../../storage/sql/audit/audit-streams.ts";

/** A log with entries to send. No other replica sends them until the lease ends. */
export interface ClaimedStream extends StreamKey {
  /** At the claim. */
  readonly log: Pick<StoredLog, "projectId" | "origin" | "size" | "pruned">;
  /** Of the first entry to send. */
  readonly position: number;
  readonly failures: number;
  /** A result with an older fence is ignored. */
  readonly fence: number;
  /** `Clock.monotonic` by which the attempt must end, with a margin to the end of the lease. */
  readonly endsBy: number;
}

/**
 * Claims a log for one batch to one sink.
 *
 * @returns undefined: nothing to send now, or another replica is sending
 */
export async function claimStream(
  { store, clock }: Pick<Context, "store" | "clock">,
  key: StreamKey,
): Promise<ClaimedStream | undefined> {
  const endsBy = attemptDeadline(clock, MESSAGE_LEASE);
  // A power failure that undoes a claim also stopped its process.
  return store.transact(async (tx) => {
    const stream = await lockStream(tx, key);
    const now = await tx.now();
    const log = await readLog(tx, key.projectId);
    const { position, failures, fence } = stream;
    if (log === undefined || log.size <= position || !isFree(stream, now)) return undefined;
    await claimStreamRow(tx, key, now + MESSAGE_LEASE.ms);
    return { ...key, log, position, failures, fence: fence + 1, endsBy };
  }, "process");
}

function isFree({ claimedUntil, retryAt }: StoredStream, now: number): boolean {
  return (claimedUntil ?? 0) <= now && (retryAt ?? 0) <= now;
}
