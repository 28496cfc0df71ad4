import type { Context } from "../../context.ts";
import type { StoredFreeze } from "../../core/freeze.ts";
import {
  awaitConcurrentCreates,
  denyFrozenRequests,
  SCAN_START,
} from "../../steps/freezes/denyFrozenRequests.ts";
import { listActiveFreezes } from "../../storage/sql/freezes/freezes.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";

/** Progress of the scan of each freeze, by its id. */
export type FreezeProgress = Map<string, Cursor | "over">;

/** Limits one call. The next call follows at once. */
const FREEZES_PER_CALL_MAX = 50;

/**
 * Denies pending requests under active freezes that freezeCalls did not deny, after a crash or
 * because there were too many. Processes one page of each freeze, so that none waits for a larger
 * one. A completed scan is not repeated, because no covered request can become pending.
 *
 * @param progress of earlier calls; updated
 * @returns how many requests it denied, and whether there may be more
 */
export async function enforceFreezes(
  context: Context,
  progress: FreezeProgress,
): Promise<{ readonly denied: number; readonly more: boolean }> {
  const freezes = await listActiveFreezes(context.store);
  const ids = new Set(freezes.map(({ id }) => id));
  for (const id of progress.keys()) if (!ids.has(id)) progress.delete(id);
  let denied = 0;
  for (const { freeze, cursor } of inTurn(freezes, progress).slice(0, FREEZES_PER_CALL_MAX)) {
    if (cursor === undefined) await awaitConcurrentCreates(context, freeze);
    const page = await denyFrozenRequests(context, freeze, cursor ?? SCAN_START);
    denied += page.count;
    // Moved to the end of the order.
    progress.delete(freeze.id);
    progress.set(freeze.id, page.next ?? "over");
  }
  return { denied, more: freezes.some(({ id }) => progress.get(id) !== "over") };
}

interface Turn {
  readonly freeze: StoredFreeze;
  /** Cursor of the next page; undefined at the start. */
  readonly cursor: Cursor | undefined;
}

/** Freezes with incomplete scans: new ones first, then the others in their order. */
function inTurn(freezes: readonly StoredFreeze[], progress: FreezeProgress): Turn[] {
  const byId = new Map(freezes.map((freeze) => [freeze.id, freeze]));
  const started = [...progress].flatMap(([id, cursor]) => {
    const freeze = byId.get(id);
    return freeze === undefined || cursor === "over" ? [] : [{ freeze, cursor }];
  });
  const others = freezes.filter(({ id }) => !progress.has(id));
  return [...others.map((freeze) => ({ freeze, cursor: undefined })), ...started];
}
