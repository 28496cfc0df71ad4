import type { Context } from "../../context.ts";
import type { StoredFreeze } from "../../core/freeze.ts";
import {
  awaitConcurrentCreates,
  denyFrozenRequests,
  SCAN_START,
} from "../../steps/freezes/denyFrozenRequests.ts";
import { listActiveFreezes } from "../../storage/sql/freezes/freezes.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";

/** How far the scan over what a freeze covers has come, by the id of the freeze. */
export type FreezeProgress = Map<string, Cursor | "over">;

/** Bounds one call; the others come in the next, which is made at once. */
const FREEZES_PER_CALL_MAX = 50;

/**
 * Denies what is pending under active freezes: what a process left when it died between two
 * transactions of freezeCalls, and what was too much for its exchange. One page for each freeze,
 * so that none waits for a larger one. Where the scan is over nothing can become pending, and
 * nothing is scanned again.
 *
 * @param progress of the calls before; updated
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
    // Behind those whose turn is still to come.
    progress.delete(freeze.id);
    progress.set(freeze.id, page.next ?? "over");
  }
  return { denied, more: freezes.some(({ id }) => progress.get(id) !== "over") };
}

interface Turn {
  readonly freeze: StoredFreeze;
  /** Where to go on; undefined at the beginning. */
  readonly cursor: Cursor | undefined;
}

/** Those whose scan is not over: the new ones, then the others in the order of their turns. */
function inTurn(freezes: readonly StoredFreeze[], progress: FreezeProgress): Turn[] {
  const byId = new Map(freezes.map((freeze) => [freeze.id, freeze]));
  const begun = [...progress].flatMap(([id, cursor]) => {
    const freeze = byId.get(id);
    return freeze === undefined || cursor === "over" ? [] : [{ freeze, cursor }];
  });
  const others = freezes.filter(({ id }) => !progress.has(id));
  return [...others.map((freeze) => ({ freeze, cursor: undefined })), ...begun];
}
