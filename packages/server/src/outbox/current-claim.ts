import type { Context } from "../context.ts";
import type { Reader } from "../storage/store.ts";

/**
 * Reads whether a claim is still valid, by the time of the database: the lease may have expired
 * while this machine was stopped.
 */
export function readClaim(
  { store, clock }: Pick<Context, "store" | "clock">,
  isCurrent: (reader: Reader, now: number) => Promise<boolean>,
): Promise<boolean> {
  // Without other processes, the local clock is authoritative.
  if (store.isExclusive) return isCurrent(store, clock.now());
  return store.transact(async (tx) => isCurrent(tx, await tx.now()), "process");
}
