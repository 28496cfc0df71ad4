import type { Context } from "../context.ts";
import type { Reader } from "../storage/store.ts";

/**
 * Reads whether a claim still holds, by the time of the database: the lease may have passed while
 * the machine of this process was stopped.
 */
export function readClaim(
  { store, clock }: Pick<Context, "store" | "clock">,
  isCurrent: (reader: Reader, now: number) => Promise<boolean>,
): Promise<boolean> {
  // Where no other process can take over, the local time is the time.
  if (store.isExclusive) return isCurrent(store, clock.now());
  return store.transact(async (tx) => isCurrent(tx, await tx.now()), "process");
}
