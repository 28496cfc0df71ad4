import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type ReviewedFreeze, reviewFreezes } from "../../steps/freezes/reviewFreezes.ts";
import { listActiveFreezesOf, listLiftedFreezes } from "../../storage/sql/freezes/freezes.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";

export type { ReviewedFreeze };

export interface FreezeListing {
  readonly state: "in_force" | "lifted";
  readonly limit: number;
  /** End of the previous page. */
  readonly after?: Cursor | undefined;
}

export interface FreezePage {
  readonly freezes: readonly ReviewedFreeze[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: Cursor | undefined;
}

/** Sorts after every identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Freezes of the reviewer's project and of the server, latest first. */
export async function listFreezes(
  { store }: Context,
  { projectId }: Pick<ReviewerCaller, "projectId">,
  { state, limit, after }: FreezeListing,
): Promise<FreezePage> {
  const list = state === "in_force" ? listActiveFreezesOf : listLiftedFreezes;
  // One more than the limit shows whether there is a next page.
  const found = await list(store, projectId, after?.id ?? LAST_ID, limit + 1);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    freezes: await reviewFreezes(store, projectId, shown),
    next: shown.length < found.length && last ? { at: last.frozenAt, id: last.id } : undefined,
  };
}
