import { type CreateApprovalRequestInput, Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { isSameRequest } from "../../core/replay.ts";
import { isOverdue, type StoredRequest } from "../../core/request.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import { hashRequestKey } from "../../secrets/keyring.ts";
import { expireRequest } from "../../steps/requests/expireRequest.ts";
import { readRequestByKey } from "../../storage/sql/requests/requests.ts";

/**
 * Finds the request that an earlier submission with the same key created.
 *
 * @returns undefined when the key was not used
 * @throws Problem `idempotency_conflict` when the key was used with other input
 */
export async function findSubmission(
  context: Context,
  caller: InstanceCaller,
  input: CreateApprovalRequestInput,
  idempotencyKey: string,
): Promise<StoredRequest | undefined> {
  const keyHash = hashRequestKey(caller.instanceId, idempotencyKey);
  const request = await readRequestByKey(context.store, caller.projectId, keyHash);
  if (request === undefined) return undefined;
  if (!isSameRequest(request, input)) throw new Problem("idempotency_conflict");
  return isOverdue(request, context.clock.now()) ? expireRequest(context, request) : request;
}
