/**
 * What reviewers read: the contract's resource, letter for letter, with what a decision needs
 * beside it.
 */

import { approvalRequestMembers } from "../http/wire.ts";
import type { Page, ReviewedRequest } from "../operations/listRequests.ts";
import { sha256Hex } from "../secrets/keyring.ts";
import { writeCursor } from "./listing-parameters.ts";

export function writeReviewedRequest({ request, instanceName }: ReviewedRequest): string {
  const instance = `{"id":"${request.instanceId}","name":${instanceName}}`;
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
export function writePage({ requests, next }: Page, now: string): string {
  const items = requests.map(writeReviewedRequest).join(",");
  return `{"requests":[${items}],"next":${writeCursor(next)},"now":"${now}"}`;
}
