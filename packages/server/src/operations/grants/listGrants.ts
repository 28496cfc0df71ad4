import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type ReviewedGrant, reviewGrants } from "../../steps/grants/reviewGrants.ts";
import { listActiveOfInstance, listGrantsBefore } from "../../storage/sql/grants/grants.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";

export type { ReviewedGrant };

export interface GrantListing {
  readonly state: "active" | "ended";
  readonly limit: number;
  /** End of the previous page. */
  readonly after?: Cursor | undefined;
  /** Only grants of this instance; requires `active`. */
  readonly instanceId: string | undefined;
}

export interface GrantPage {
  readonly grants: readonly ReviewedGrant[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: Cursor | undefined;
}

/** Sorts after every identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Grants of the reviewer's project, latest first. */
export async function listGrants(
  { store, clock }: Context,
  { projectId }: ReviewerCaller,
  { state, limit, after, instanceId }: GrantListing,
): Promise<GrantPage> {
  // One more than the limit shows whether there is a next page.
  const before = after?.id ?? LAST_ID;
  const now = clock.now();
  const found =
    instanceId === undefined
      ? await listGrantsBefore(store, projectId, state, now, before, limit + 1)
      : await listActiveOfInstance(store, { projectId, instanceId }, now, before, limit + 1);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    grants: await reviewGrants(store, projectId, shown),
    next: shown.length < found.length && last ? { at: last.createdAt, id: last.id } : undefined,
  };
}
