/**
 * What reviewers read: the contract's resource, letter for letter, with what a decision needs
 * beside it.
 */

import { approvalRequestMembers, writeInstance } from "../http/wire.ts";
import type { Listing, ReviewedRequest } from "../operations/listRequests.ts";
import { sha256Hex } from "../secrets/keyring.ts";

export function writeReviewedRequest({ request, instanceName }: ReviewedRequest): string {
  const instance = writeInstance({ id: request.instanceId, name: instanceName });
  const { decision } = request;
  return (
    `{${approvalRequestMembers(request)}` +
    `,"instance":${instance}` +
    `,"arguments_sha256":"${sha256Hex(request.arguments)}"` +
    (decision === null ? "" : `,"decided_by":${JSON.stringify(decision.decidedBy)}`) +
    "}"
  );
}

/**
 * @param now the server's time: a countdown must not depend on the reader's clock
 */
export function writeListing(
  requests: readonly ReviewedRequest[],
  { limit }: Listing,
  now: string,
): string {
  const last = requests.at(-1)?.request;
  const full = requests.length === limit && last !== undefined;
  const next = full ? `"${last.decision?.decidedAt ?? last.deadlineAt}_${last.id}"` : "null";
  const items = requests.map(writeReviewedRequest).join(",");
  return `{"requests":[${items}],"next":${next},"now":"${now}"}`;
}
