import { Problem } from "@countersign/protocol";
import { isClosed, type ResolvableRequest } from "../../core/request.ts";
import { lockForResolution } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Locks a request that waits for a decision.
 *
 * @throws Problem `not_found`; `already_terminal`
 */
export async function lockPending(
  tx: Transaction,
  projectId: string,
  id: string,
): Promise<ResolvableRequest> {
  const request = await lockForResolution(tx, { projectId, id });
  if (request === undefined) throw new Problem("not_found");
  if (request.decision === null && !isClosed(request, await tx.now())) return request;
  const status = request.decision?.status ?? "expired";
  throw new Problem("already_terminal", `The request is already ${status}.`);
}
