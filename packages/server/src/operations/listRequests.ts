import type { Context } from "../context.ts";
import type { StoredRequest } from "../core/request.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { readInstanceNames } from "../storage/sql/instances.ts";
import { readDecidedOfProject, readPendingOfProject } from "../storage/sql/requests.ts";

export interface Listing {
  readonly state: "pending" | "decided";
  readonly limit: number;
  /** Where the page before ended. */
  readonly after: { readonly at: number; readonly id: string } | undefined;
}

/** A request with what a reviewer needs to know beside it. */
export interface ReviewedRequest {
  readonly request: StoredRequest;
  /** JSON text; a name is not proof of identity. */
  readonly instanceName: string;
}

/**
 * Requests of the reviewer's project: pending ones by their deadline, decided ones newest first.
 */
export async function listRequests(
  context: Context,
  caller: ReviewerCaller,
  { state, limit, after }: Listing,
): Promise<readonly ReviewedRequest[]> {
  const { store, clock } = context;
  const requests =
    state === "pending"
      ? await readPendingOfProject(store, caller.projectId, undecided(clock.now(), after), limit)
      : await readDecidedOfProject(
          store,
          caller.projectId,
          { decidedAt: after?.at ?? Number.MAX_SAFE_INTEGER, id: after?.id ?? LAST_ID },
          limit,
        );
  const ids = [...new Set(requests.map((request) => request.instanceId))];
  const names = await readInstanceNames(store, ids);
  return requests.map((request) => ({
    request,
    instanceName: names.get(request.instanceId) ?? '""',
  }));
}

/** Sorts behind every other identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Where a page of pending requests begins. Those whose window has passed are left out: the
 * expiry worker is about to end them, and nobody can decide them any more.
 */
function undecided(now: number, after: Listing["after"]): { deadlineAt: number; id: string } {
  if (after === undefined || after.at <= now) return { deadlineAt: now, id: LAST_ID };
  return { deadlineAt: after.at, id: after.id };
}
