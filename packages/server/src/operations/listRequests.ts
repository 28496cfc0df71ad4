import type { Context } from "../context.ts";
import { isOverdue, type StoredRequest } from "../core/request.ts";
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
      ? await readPendingOfProject(
          store,
          caller.projectId,
          { deadlineAt: after?.at ?? 0, id: after?.id ?? "" },
          limit,
        )
      : await readDecidedOfProject(
          store,
          caller.projectId,
          { decidedAt: after?.at ?? Number.MAX_SAFE_INTEGER, id: after?.id ?? "~" },
          limit,
        );
  // The expiry worker is about to end these; nobody can decide them any more.
  const current = requests.filter((request) => !isOverdue(request, clock.now()));
  const ids = [...new Set(current.map((request) => request.instanceId))];
  const names = await readInstanceNames(store, ids);
  return current.map((request) => ({
    request,
    instanceName: names.get(request.instanceId) ?? '""',
  }));
}
