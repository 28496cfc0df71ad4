import type { Context } from "../../context.ts";
import { retryDelayMs, type SendOutcome } from "../../core/channel.ts";
import { toFraction } from "../../core/retry.ts";
import { type StreamProgress, updateStream } from "../../storage/sql/audit/audit-streams.ts";
import type { ClaimedStream } from "./claimStream.ts";

/** The result of an attempt for its stream. */
export type RecordedStream =
  | { readonly kind: "sent" }
  | { readonly kind: "rests"; readonly ms: number }
  /** Nothing was sent because of this server. */
  | { readonly kind: "released" }
  /** Another replica has the lease: nothing was recorded. */
  | { readonly kind: "stale" };

/**
 * Records the outcome of a batch and releases the stream. Only a success moves the position, so
 * each entry is sent at least once.
 *
 * @param next position after the last entry of the batch
 */
export async function recordStreamed(
  { store, random }: Pick<Context, "store" | "random">,
  claim: ClaimedStream,
  outcome: SendOutcome,
  next: number,
): Promise<RecordedStream> {
  const chance = toFraction(random.bytes(4));
  // If a power failure undoes this, the batch is sent again.
  return store.transact(async (tx): Promise<RecordedStream> => {
    const now = await tx.now();
    const after = progressAfter(claim, outcome, next, now, chance);
    if (!(await updateStream(tx, claim, claim.fence, after))) return { kind: "stale" };
    if (outcome.kind === "unwanted") return { kind: "released" };
    if (after.retryAt === null) return { kind: "sent" };
    return { kind: "rests", ms: after.retryAt - now };
  }, "process");
}

function progressAfter(
  { position, failures }: ClaimedStream,
  outcome: SendOutcome,
  next: number,
  now: number,
  chance: number,
): StreamProgress {
  if (outcome.kind === "unwanted") return { position, failures, retryAt: null };
  if (outcome.kind === "sent") return { position: next, failures: 0, retryAt: null };
  const retryAt = now + retryDelayMs(failures + 1, outcome, chance);
  return { position, failures: failures + 1, retryAt };
}
